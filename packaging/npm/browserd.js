#!/usr/bin/env node
// Runs browserd. The first run fetches the archive of this package's release and takes
// the program out of it, if the archive's SHA-256 is the one that this package holds.
"use strict";
const { spawn, spawnSync } = require("node:child_process");
const { createHash } = require("node:crypto");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const release = require("./release.json");

const windows = process.platform === "win32";
const program = windows ? "browserd.exe" : "browserd";

function cacheDir() {
  if (windows) return path.join(process.env.LOCALAPPDATA || os.homedir(), "browserd", "programs");
  return path.join(process.env.XDG_CACHE_HOME || path.join(os.homedir(), ".cache"), "browserd", "programs");
}

async function install(dir) {
  const system = { linux: "linux", darwin: "darwin", win32: "windows" }[process.platform];
  const arch = { x64: "amd64", arm64: "arm64" }[process.arch];
  const name = `browserd_${release.version}_${system}_${arch}${windows ? ".zip" : ".tar.gz"}`;
  const want = release.sha256[name];
  if (!want) throw new Error(`release ${release.version} has no program for ${process.platform} ${process.arch}; build it with: go install github.com/browserd/browserd/cmd/browserd@latest`);
  // BROWSERD_RELEASES names a copy of the release's files. The checksum stays this package's.
  const url = `${process.env.BROWSERD_RELEASES || release.url}/${name}`;
  console.error(`browserd: fetching ${url}`);
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
  const body = Buffer.from(await answer.arrayBuffer());
  const got = createHash("sha256").update(body).digest("hex");
  if (got !== want) throw new Error(`${url} is not the file of the release: its SHA-256 is ${got}, and ${want} is expected; nothing was installed`);
  fs.mkdirSync(path.dirname(dir), { recursive: true, mode: 0o700 });
  const made = fs.mkdtempSync(dir + "-");
  try {
    fs.writeFileSync(path.join(made, name), body);
    // Windows has bsdtar, which reads zip files.
    const tar = windows ? path.join(process.env.SystemRoot || "C:\\Windows", "System32", "tar.exe") : "tar";
    const run = spawnSync(tar, ["-xf", name, program], { cwd: made, encoding: "utf8" });
    if (run.error || run.status !== 0) throw new Error(`unpacking ${name}: ${run.error || run.stderr}`);
    fs.unlinkSync(path.join(made, name));
    try {
      fs.renameSync(made, dir); // at once, also beside another first run
    } catch (err) {
      if (!fs.existsSync(path.join(dir, program))) throw err;
    }
  } finally {
    fs.rmSync(made, { recursive: true, force: true });
  }
}

async function main() {
  const dir = path.join(cacheDir(), release.version);
  const file = path.join(dir, program);
  if (!fs.existsSync(file)) await install(dir);
  const child = spawn(file, process.argv.slice(2), { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", fail);
  child.on("exit", (code, signal) => process.exit(signal ? 128 + os.constants.signals[signal] : code));
}

function fail(err) {
  console.error(`browserd: ${err.message}${err.cause ? ` (${err.cause.message})` : ""}`);
  process.exit(1);
}

main().catch(fail);
