// Gets the document out of the page's own element: base64, then gzip, then JSON.

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Decodes the text of the element `weir-data`. */
export async function decode(text: string): Promise<unknown> {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser does not support DecompressionStream (gzip); use a newer one");
  }
  const stream = new Blob([fromBase64(text.trim())]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}
