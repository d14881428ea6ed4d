/** A setting of the deployment, by the name of its element in the document; null if there is none. */
export const settingIn = (name: string): string | null =>
  document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? null;
