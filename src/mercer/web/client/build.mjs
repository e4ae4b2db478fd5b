// Builds page.js and page.css, and gathers the licences of what is bundled. The same sources give the same bytes.
//   node build.mjs [--out folder]     the bundle, into ../static unless told otherwise
//   node build.mjs --tests            the unit tests, into test/built
import { build } from "esbuild";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const common = { absWorkingDir: here, bundle: true, target: "es2022", logLevel: "warning", charset: "ascii" };

if (process.argv.includes("--tests")) {
  const tests = readdirSync(join(here, "test")).filter((name) => name.endsWith(".test.ts"));
  await build({
    ...common,
    entryPoints: tests.map((name) => join("test", name)),
    outdir: "test/built",
    outExtension: { ".js": ".mjs" },
    format: "esm",
    platform: "node",
  });
} else {
  const flag = process.argv.indexOf("--out");
  const out = flag > 0 ? resolve(process.argv[flag + 1]) : join(here, "..", "static");
  mkdirSync(out, { recursive: true });
  const result = await build({
    ...common,
    entryPoints: { page: "src/main.ts" },
    outdir: out,
    format: "iife",
    minify: true,
    legalComments: "none",
    alias: { regl: "regl/dist/regl.unchecked.js" }, // without the checks for developers
    write: false,
  });
  // The bundle stands in a script element: nothing in it may end that element early.
  const style = readFileSync(join(here, "src", "page.css"));
  const css = await build({ ...common, stdin: { contents: style.toString(), loader: "css" }, minify: true, write: false });
  for (const file of result.outputFiles) {
    const text = file.text.replace(/<\/(script)/gi, "<\\/$1").replace(/<!--/g, "<\\!--");
    writeFileSync(join(out, "page.js"), text);
  }
  writeFileSync(join(out, "page.css"), css.outputFiles[0].text);
  writeFileSync(join(out, "LICENSES.txt"), licences());
}

// regl-scatterplot comes with its dependencies bundled in, so all of them are named, not only the files that were read.
function licences() {
  const found = new Set();
  const visit = (name) => {
    if (found.has(name)) return;
    found.add(name);
    Object.keys(manifest(name).dependencies ?? {}).forEach(visit);
  };
  ["regl-scatterplot", "regl", "pub-sub-es"].forEach(visit);
  const parts = [...found].sort().map((name) => {
    const folder = join(here, "node_modules", name);
    const { version, license } = manifest(name);
    const file = readdirSync(folder).sort().find((each) => /^licen[cs]e/i.test(each));
    const text = file ? readFileSync(join(folder, file), "utf8").trim() : `License: ${license}`;
    return `${name} ${version} (${license})\n\n${text}\n`;
  });
  parts.push("KDBush 4.0.2 (ISC), within regl-scatterplot\n\nCopyright (c) 2018, Vladimir Agafonkin\n");
  return "page.js contains the following packages.\n\n" + parts.join(`\n${"-".repeat(80)}\n\n`);
}

function manifest(name) {
  return JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"), "utf8"));
}
