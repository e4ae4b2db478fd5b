// Builds page.js, page.css, and widget.js, which gives the page a place in a notebook. Nothing of others is bundled. The same sources give the same bytes.
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
    write: false,
  });
  const widget = await build({ ...common, entryPoints: ["src/widget.ts"], format: "esm", minify: true, legalComments: "none", write: false });
  writeFileSync(join(out, "widget.js"), widget.outputFiles[0].text);
  // The bundle stands in a script element: nothing in it may end that element early.
  const style = readFileSync(join(here, "src", "page.css"));
  const css = await build({ ...common, stdin: { contents: style.toString(), loader: "css" }, minify: true, write: false });
  for (const file of result.outputFiles) {
    const text = file.text.replace(/<\/(script)/gi, "<\\/$1").replace(/<!--/g, "<\\!--");
    writeFileSync(join(out, "page.js"), text);
  }
  writeFileSync(join(out, "page.css"), css.outputFiles[0].text);
}
