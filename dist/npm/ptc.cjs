#!/usr/bin/env node
// Starts the binary of this platform, which is in a package of its own.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const own = require("../package.json");

function binary() {
  const wanted = `${own.name}-${process.platform}-${process.arch}`;
  if (!(wanted in own.optionalDependencies)) {
    const there = Object.keys(own.optionalDependencies).map((name) => name.slice(own.name.length + 1));
    fail(`there is no binary for ${process.platform}-${process.arch}, only for ${there.join(", ")}; build from source: ${own.homepage}`);
  }
  try {
    return require.resolve(`${wanted}/bin/ptc`);
  } catch {
    // The report names the version of glibc where there is one; Alpine and others have musl.
    if (process.platform === "linux" && !process.report.getReport().header.glibcVersionRuntime) {
      fail(`the binary for ${process.platform} needs glibc, which this system does not have; build from source: ${own.homepage}`);
    }
    fail(
      `the package ${wanted} ${own.version} is missing: install ${own.name} again, without --omit=optional or --no-optional, ` +
        "on this platform (node_modules of another one does not fit)",
    );
  }
}

function fail(text) {
  process.stderr.write(`ptc: ${text}\n`);
  process.exit(1);
}

const path = binary();
// What asks us to end asks the binary, which ends its upstreams first. On a terminal an interrupt reaches both of us anyway.
// Handlers run once this script is through, when there is a child; a signal before they stand would leave one alone.
for (const signal of ["SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2"]) {
  const typed = signal === "SIGINT" || signal === "SIGQUIT";
  process.on(signal, () => {
    if (!(typed && process.stdin.isTTY)) child.kill(signal);
  });
}
const child = spawn(path, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => fail(`cannot start ${child.spawnfile}: ${error.message}`));
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  // As a shell would tell it, whatever this process does with the signal itself.
  process.exit(128 + constants.signals[signal]);
});
