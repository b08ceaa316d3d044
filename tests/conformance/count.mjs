// usage: count.mjs "SIDE REVISION" LOG KNOWN
//
// Counts the scenarios of one run of the suite, and exits with 1 where one
// that is scored failed unexpectedly, or one that is known to fail did not.
import { readFileSync } from "node:fs";

const [what, logFile, knownFile] = process.argv.slice(2);
const log = readFileSync(logFile, "utf8");

const known = new Set();
for (const line of readFileSync(knownFile, "utf8").split("\n")) {
  const [side, revision, scenario, ...reason] = line.split(/\s+/);
  if (!side || side.startsWith("#")) continue;
  if (reason.length === 0) throw new Error(`${scenario} is known to fail without a reason`);
  if (`${side} ${revision}` === what) known.add(scenario);
}

const [scored, unscored = ""] = log.split(/^Not scored for .*$/m);
const optional = new Set([...unscored.matchAll(/^\s*[✓✗] (\S+) \(/gm)].map((match) => match[1]));
const outcomes = [...scored.matchAll(/^([✓✗]) ([\w/.-]+): \d+ passed, \d+ failed/gm)]
  .map(([, mark, scenario]) => ({ scenario, passed: mark === "✓" }))
  .filter(({ scenario }) => !optional.has(scenario));

const passed = outcomes.filter(({ passed }) => passed);
const unexpected = outcomes.filter(({ scenario, passed }) => !passed && !known.has(scenario));
const stale = [...known].filter((scenario) => !outcomes.some((one) => one.scenario === scenario && !one.passed));

const extra = [...unscored.matchAll(/^\s*✓ (\S+) \(/gm)].length;
console.log(`   ${what}: ${passed.length}/${outcomes.length} scenarios, ${extra}/${optional.size} that are not scored`);
for (const { scenario } of unexpected) console.log(`   failed: ${scenario}`);
for (const scenario of stale) console.log(`   known to fail, and did not: ${scenario}`);
if (outcomes.length === 0) console.log(log.slice(-2000));
process.exit(unexpected.length + stale.length > 0 || outcomes.length === 0 ? 1 : 0);
