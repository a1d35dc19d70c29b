// Why a file cannot be attached: its type, its size, or what it holds. Only what the server would refuse is refused here; the server checks each file again.

const MB = 1e6;
const megabytes = (bytes) => `${Math.round(bytes / MB * 10) / 10} MB`;
const suffixOf = (name) => /\.[a-z0-9]{1,10}$/.exec(name.toLowerCase())?.[0] ?? "";
// The words of a message that is sent with the files.
const WORDS_BYTES = 200_000;
const sizeOf = (files) => files.reduce((sum, { size }) => sum + size, 0);

// What can be said without reading the file.
export function faultOutside(file, others, limits) {
  if (!limits) return "";
  const { suffixes, saved_as: savedAs, file_bytes: most, request_bytes: sent, files } = limits, suffix = suffixOf(file.name);
  // Base64 is a third longer than what it encodes.
  const together = Math.floor((sent - WORDS_BYTES) * 3 / 4);
  if (savedAs[suffix] && !suffixes.includes(suffix)) return `${suffix} files are not read; save it as ${savedAs[suffix]}`;
  if (suffix && !suffixes.includes(suffix)) return `${suffix} files are not read`;
  if (file.size === 0) return "it is empty";
  if (file.size > Math.min(most, together)) return `it has ${megabytes(file.size)}; at most ${megabytes(Math.min(most, together))} can be sent`;
  if (others.length >= files) return `at most ${files} files can be attached`;
  const sum = sizeOf([...others, file]);
  return sum > together ? `with the others, ${megabytes(sum)}; at most ${megabytes(together)} can be sent together` : "";
}

const HEAD = 65_536, TAIL = 65_557, PDF_HEAD = 1_024;
const OLD_OFFICE = "\xd0\xcf\x11\xe0";
const ZIPS = [".docx", ".docm", ".pptx", ".pptm", ".ppsx", ".xlsx", ".xlsm", ".epub", ".odt", ".ods", ".odp"];
const PICTURES = [".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff"], PICTURE = /^(\x89PNG|\xff\xd8|RIFF|II|MM)/;
// As in `core/reading/documents/_office.py`.
const SMALL_BYTES = 20_000_000, RATIO = 200, ENCRYPTED = 1;
const BROKEN = "it is broken or of another type than its name says";

const bytesOf = async (file, from, to) => new DataView(await file.slice(from, to).arrayBuffer());
const textOf = async (file, from, to) => new TextDecoder("latin1").decode(await bytesOf(file, from, to));

// Sizes are read from the directory at the end of the archive; nothing is unpacked.
async function faultOfZip(file) {
  const start = Math.max(0, file.size - TAIL), tail = await bytesOf(file, start, file.size);
  let end = tail.byteLength - 22;
  while (end >= 0 && tail.getUint32(end, true) !== 0x06054b50) end -= 1;
  if (end < 0) return BROKEN;
  const length = tail.getUint32(end + 12, true), begin = start + end - length;
  // An archive of more than 4 GB: the server looks at it.
  if (length === 0xffffffff) return "";
  if (begin < 0) return BROKEN;
  const directory = await bytesOf(file, begin, begin + length);
  let unpacked = 0;
  for (let at = 0; at + 46 <= length;) {
    if (directory.getUint32(at, true) !== 0x02014b50) return BROKEN;
    if (directory.getUint16(at + 8, true) & ENCRYPTED) return "it is encrypted";
    unpacked += directory.getUint32(at + 24, true);
    at += 46 + directory.getUint16(at + 28, true) + directory.getUint16(at + 30, true) + directory.getUint16(at + 32, true);
  }
  return unpacked > Math.max(SMALL_BYTES, RATIO * file.size) ? `it is packed suspiciously small: ${megabytes(file.size)} unpack to ${megabytes(unpacked)}` : "";
}

export async function faultInside(file) {
  const suffix = suffixOf(file.name);
  if (suffix === ".pdf") {
    const head = await textOf(file, 0, HEAD);
    return head.slice(0, PDF_HEAD).includes("%PDF-") && /\sobj/.test(head) ? "" : BROKEN;
  }
  if (ZIPS.includes(suffix)) {
    if ((await textOf(file, 0, 4)) === OLD_OFFICE) return "it has a password, or is in an Office format from before 2007";
    return faultOfZip(file);
  }
  if (PICTURES.includes(suffix)) return PICTURE.test(await textOf(file, 0, 4)) ? "" : BROKEN;
  return "";
}
