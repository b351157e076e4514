// SPDX-License-Identifier: Apache-2.0
// Bundles the page: node build.mjs [FOLDER]. What unpacks blocks becomes a text within the script, for a worker
// made of a blob: a file opened from a disk may load no other.
import { build } from "esbuild";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const out = path.resolve(process.argv[2] ?? path.join(here, "dist"));
const common = { bundle: true, minify: true, format: "iife", target: ["chrome100", "firefox100", "safari15"], charset: "ascii", legalComments: "none",
  absWorkingDir: here, write: false };
const worker = {
  name: "worker",
  setup(of) {
    of.onResolve({ filter: /^worker:/ }, a => ({ path: path.join(a.resolveDir, a.path.slice(7)), namespace: "worker" }));
    of.onLoad({ filter: /.*/, namespace: "worker" }, async a => {
      const made = await build({ ...common, entryPoints: [a.path] });
      return { contents: made.outputFiles[0].text, loader: "text" };
    });
  },
};
const licence = async name => {
  const about = JSON.parse(await readFile(path.join(here, "node_modules", name, "package.json"), "utf8"));
  return `${name} ${about.version} (${about.license})\n\n${await readFile(path.join(here, "node_modules", name, "LICENSE"), "utf8")}`;
};
const script = await build({ ...common, entryPoints: ["main.js"], plugins: [worker] });
const style = await build({ ...common, entryPoints: ["page.css"] });
const wanted = Object.keys(JSON.parse(await readFile(path.join(here, "package.json"), "utf8")).dependencies);
const notice = "The page contains these packages.\n\n" + (await Promise.all(wanted.map(licence))).join("\n");
await mkdir(out, { recursive: true });
// "</script" would end the element that the script stands in.
await writeFile(path.join(out, "page.js"), `/* Kymo, Apache-2.0; with fflate (MIT): see NOTICE.txt */\n${script.outputFiles[0].text.replaceAll("</script", "<\\/script")}`);
await writeFile(path.join(out, "page.css"), `/* Kymo, Apache-2.0 */\n${style.outputFiles[0].text}`);
await writeFile(path.join(out, "NOTICE.txt"), notice);
