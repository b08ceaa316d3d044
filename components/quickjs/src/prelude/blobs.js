// `blobs`: what is in files that the workspace holds, and new files.
const referenceOf = (file) => {
  const reference = typeof file === "object" && file !== null ? file.$file : file;
  if (typeof reference === "string") return reference;
  throw new PrimordialTypeError("blobs takes a file as an answer gives it, { $file }, or its reference");
};

const startBlob = (path, args) => startCall("blobs", path, args, undefined, undefined, `blobs.${path}`);

const blobs = {
  __proto__: null,
  async text(file) {
    return (await startBlob("text", { __proto__: null, file: referenceOf(file) })).text;
  },
  async bytes(file) {
    return host.bytes((await startBlob("bytes", { __proto__: null, file: referenceOf(file) })).$bytes);
  },
  async put(data, about) {
    const name = about?.name, mediaType = about?.mediaType;
    return startBlob("put", { __proto__: null, data, name, mediaType });
  },
};
