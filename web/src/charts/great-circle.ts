// The shortest way between two places on the earth, for lines on a map. It knows no chart.

/** Points of the great circle between two places, degrees, both ends included. */
export function greatCircle(
  from: { latitude: number; longitude: number },
  to: { latitude: number; longitude: number },
): [number, number][] {
  const radians = Math.PI / 180;
  const vector = (place: typeof from) => {
    const [latitude, longitude] = [place.latitude * radians, place.longitude * radians];
    return [
      Math.cos(latitude) * Math.cos(longitude),
      Math.cos(latitude) * Math.sin(longitude),
      Math.sin(latitude),
    ] as const;
  };
  const [a, b] = [vector(from), vector(to)];
  const angle = Math.acos(Math.max(-1, Math.min(1, a[0] * b[0] + a[1] * b[1] + a[2] * b[2])));
  // Opposite points have no one great circle, and equal ones need none.
  if (Math.sin(angle) < 1e-9)
    return [
      [from.latitude, from.longitude],
      [to.latitude, to.longitude],
    ];
  const steps = Math.max(1, Math.ceil(angle / (3 * radians)));
  return Array.from({ length: steps + 1 }, (_, i): [number, number] => {
    const [near, far] = [
      Math.sin(angle * (1 - i / steps)) / Math.sin(angle),
      Math.sin((angle * i) / steps) / Math.sin(angle),
    ];
    const [x, y, z] = [near * a[0] + far * b[0], near * a[1] + far * b[1], near * a[2] + far * b[2]];
    return [Math.asin(Math.max(-1, Math.min(1, z))) / radians, Math.atan2(y, x) / radians];
  });
}
