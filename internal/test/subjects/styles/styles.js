// Correct converters: one object a line, in the style that the argument names.
"use strict";

const prefix = "styles.example.com/";

function keep(object, name, value) {
  object.metadata ??= {};
  object.metadata.annotations ??= {};
  object.metadata.annotations[prefix + name] = JSON.stringify(value);
}

// kept takes what an annotation keeps; undefined if there is none, or it is none of ours.
function kept(object, name) {
  const annotations = object.metadata?.annotations;
  let value;
  try {
    value = JSON.parse(annotations[prefix + name]);
  } catch {
    return undefined;
  }
  delete annotations[prefix + name];
  if (Object.keys(annotations).length === 0) delete object.metadata.annotations;
  return value;
}

// change gives a field another name and another value, if there is one. Parts of objects have null in place of values, and keep that.
function change(fields, from, to, by) {
  if (!(from in fields)) return;
  const value = fields[from] === null ? null : by(fields[from]);
  delete fields[from];
  fields[to] = value;
}

const styles = {
  // Text is split into lists, and numbers have their unit in the text.
  split(from, to, { spec }) {
    spec ??= {};
    if (to === "v1") {
      change(spec, "arguments", "args", (text) => text.split(" "));
      change(spec, "memoryMiB", "memory", (n) => `${n}Mi`);
      change(spec, "period", "periodSeconds", (text) => Number(text.slice(0, -1)));
      return;
    }
    change(spec, "args", "arguments", (list) => list.join(" "));
    change(spec, "memory", "memoryMiB", (text) => Number(text.slice(0, -2)));
    change(spec, "periodSeconds", "period", (n) => `${n}s`);
  },

  // What the older version lacks, and the newer requires, is filled in, and kept where it is something else.
  defaults(from, to, object) {
    if (!object.spec) return;
    const usual = { policy: "Always", port: 80 };
    for (const field of Object.keys(usual)) {
      if (to === "v1") {
        const value = kept(object, field) ?? (field === "policy" ? usual[field] : undefined);
        if (value !== undefined) object.spec[field] = value;
      } else if (field in object.spec) {
        if (object.spec[field] !== usual[field]) keep(object, field, object.spec[field]);
        delete object.spec[field];
      }
    }
  },

  // The older version has a field under its old name as well, and a rule that both are the same.
  mirrors(from, to, { spec }) {
    spec ??= {};
    if (to === "v1") {
      spec.replicas ??= spec.size;
      delete spec.size;
      if (spec.replicas === undefined) delete spec.replicas;
    } else if ("replicas" in spec) {
      spec.size = spec.replicas;
    }
  },
};

const convert = styles[process.argv[2]];
require("readline")
  .createInterface({ input: process.stdin, crlfDelay: Infinity })
  .on("line", (line) => {
    const request = JSON.parse(line);
    let answer = request;
    try {
      convert(request.from, request.to, request.object);
    } catch (error) {
      answer = { error: String(error) };
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
  });
