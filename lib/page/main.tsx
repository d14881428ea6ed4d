import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/app.tsx";
import { keptTheme, showTheme } from "./app/theme.ts";
import { arrive } from "./sign-in/arrive.ts";
import { takeTokenFromAddress } from "./sign-in/kept-token.ts";
import { signInSettings } from "./sign-in/settings.ts";
import "./look/tokens.css";
import "./look/base.css";

takeTokenFromAddress();
const signIn = signInSettings();
const arrival = arrive(signIn);
showTheme(keptTheme());
const root = document.getElementById("page");
if (root === null) throw new Error("The document has no element with the id `page`.");
createRoot(root).render(
  <StrictMode>
    <App signIn={signIn} arrival={arrival} />
  </StrictMode>,
);
