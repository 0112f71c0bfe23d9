// An operator at the page of one program that waits: prints what the page shows of it, and presses a button.
// Usage: TOKEN=… node approving.mjs ORIGIN RUN looks|BUTTON PICTURE
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Browser, until } from "./browser.mjs";

const [origin, run, what, picture] = process.argv.slice(2);
const scratch = mkdtempSync(join(tmpdir(), "ptc-approving-"));
const browser = new Browser(join(scratch, "profile"));
try {
  await browser.open();
  await browser.send("Emulation.setDeviceMetricsOverride", { width: 1280, height: 900, deviceScaleFactor: 1, mobile: false });
  await browser.send("Page.navigate", { url: `${origin}/console#q=${run}` });
  await until("the form is there", () => browser.text("#login"));
  await browser.type(process.env.TOKEN);
  const inRun = (expression) => browser.evaluate(`(() => { const run = document.getElementById("run-${run}")?.closest(".run"); return run && ${expression}; })()`);
  console.log(await until("the run and its calls", () => inRun("run.querySelector('.calls li pre') && run.innerText")));
  await browser.picture(picture);
  if (what !== "looks") {
    await inRun(`[...run.querySelectorAll("button")].find((one) => one.innerText === ${JSON.stringify(what)}).click()`);
    await until("the question is answered", async () => !(await inRun("true")));
  }
} finally {
  await browser.close();
  // Chromium's helpers may still be writing for a moment.
  rmSync(scratch, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}
