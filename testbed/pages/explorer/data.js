// Reads what `testbed.pages.explorer.packing` wrote. Pages from disk may load scripts and nothing else, so each
// file is a script that calls receive(FILE, TEXT); it is added when it is needed.
const NOTHING = -(2 ** 31);
const PARTS = 10000;
const files = new Map();

const unpack = async (text) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const buffer = await new Response(plain).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const kinds = { uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, int32: Int32Array };
  const arrays = {};
  for (const [name, [kind, start, size]] of Object.entries(header.arrays))
    arrays[name] = new kinds[kind](buffer, 4 + length + start, size);
  return { header, arrays };
};

// A file's header and arrays, as a promise; it is read once.
const load = (file) => {
  if (!files.has(file)) {
    const entry = {};
    entry.content = new Promise((resolve, reject) => Object.assign(entry, { resolve, reject }));
    files.set(file, entry);
    const script = document.createElement("script");
    script.src = file;
    script.onload = () => script.remove();
    script.onerror = () => entry.reject(new Error(`${file} cannot be read; make the report again`));
    document.head.append(script);
  }
  return files.get(file).content;
};

window.receive = (file, text) => files.get(file).resolve(unpack(text));

// An element with attributes and children; text is always text.
const SVG = new Set(["svg", "rect", "title", "circle"]);
const element = (tag, attributes = {}, ...children) => {
  const one = SVG.has(tag)
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) one.addEventListener(name.slice(2), value);
    else if (value === true) one.setAttribute(name, "");
    else if (value !== false && value !== undefined) one.setAttribute(name, value);
  }
  one.append(...children);
  return one;
};

const counted = (n) => n.toLocaleString("en");
const decimal = (parts, whole = false) => {
  if (parts === NOTHING) return "–";
  const digits = whole ? 0 : 2;
  return (parts / PARTS).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
};
