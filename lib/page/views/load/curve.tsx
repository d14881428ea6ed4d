import { memo, type PointerEvent } from "react";
import type { Forecast } from "../../../client/forecast.ts";
import { numberText } from "../../data/amounts.ts";
import { countTicks } from "../../data/load/curve-scale.ts";
import { minuteText } from "../../data/time/zone.ts";
import { useZone } from "../../hooks/use-zone.ts";

const size = { width: 1_200, height: 200 };
/** Broader bars have a gap between them. */
const gapFrom = 4;

interface CurveProps {
  forecast: Forecast;
  /** The number at the upper edge. */
  peak: number;
  /** The minute that the note beneath is about. */
  place: number;
  onPoint(place: number): void;
}

/** The drawing of the curve, without its numbers. */
export function Curve({ forecast: { minutes, spread, capacity }, peak, place: marked, onPoint }: CurveProps) {
  const zone = useZone();
  const slot = size.width / Math.max(1, minutes.length);
  const y = (fires: number) => size.height - (fires / peak) * size.height;
  const across = { x1: 0, x2: size.width };
  const pointed = ({ currentTarget, clientX }: PointerEvent<SVGElement>) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    onPoint(Math.min(minutes.length - 1, Math.floor(((clientX - left) / width) * minutes.length)));
  };
  const line = spread?.minutes
    .map(({ fires }, place) => `${place === 0 ? "M" : "L"}${(place + 0.5) * slot} ${y(fires)}`)
    .join("");
  return (
    <svg
      className="curve"
      viewBox={`0 0 ${size.width} ${size.height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`Planned runs of ${numberText(minutes.length)} minutes, at most ${numberText(peak)}.`}
      onPointerMove={pointed}
      onPointerDown={pointed}
    >
      {countTicks(peak).map((count) => (
        <line key={count} className="grid" {...across} y1={y(count)} y2={y(count)} />
      ))}
      <Bars minutes={minutes} peak={peak} zone={zone} />
      {capacity === null || capacity.perMinute > peak ? null : (
        <line className="capacity" {...across} y1={y(capacity.perMinute)} y2={y(capacity.perMinute)} />
      )}
      <line
        className="marked"
        x1={(marked + 0.5) * slot}
        x2={(marked + 0.5) * slot}
        y1={0}
        y2={size.height}
      />
      {line === undefined ? null : <path className="spread" d={line} />}
    </svg>
  );
}

interface BarsProps {
  minutes: Forecast["minutes"];
  peak: number;
  zone: string;
}

/** A day has 1,440 bars: they are drawn again with another forecast, not with each move of the pointer. */
const Bars = memo(function Bars({ minutes, peak, zone }: BarsProps) {
  const slot = size.width / Math.max(1, minutes.length);
  const y = (fires: number) => size.height - (fires / peak) * size.height;
  return minutes.map(({ at, fires, beyond }, place) => (
    <rect
      key={at}
      className={beyond ? "beyond" : "within"}
      x={place * slot}
      width={Math.max(0.5, slot - (slot > gapFrom ? 1 : 0))}
      y={y(fires)}
      height={size.height - y(fires)}
    >
      <title>{`${minuteText(Date.parse(at), zone)}: ${numberText(fires)}`}</title>
    </rect>
  ));
});
