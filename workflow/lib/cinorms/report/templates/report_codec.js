// Packed data: base64 of gzip, unpacked only where it is needed.

const unpacked = new Map();

/** Return the bytes of a pack (a promise); the same pack is unpacked once. */
function unpack(pack) {
  if (!unpacked.has(pack)) unpacked.set(pack, inflate(pack));
  return unpacked.get(pack);
}

async function inflate(pack) {
  const bytes = Uint8Array.from(atob(pack), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/** Return a pack of JSON as data (a promise). */
async function unpackJson(pack) {
  return JSON.parse(new TextDecoder().decode(await unpack(pack)));
}
