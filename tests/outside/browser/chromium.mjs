// Chromium, as a person has it, but for what would make a test depend on the day.

import { rm } from 'node:fs/promises';

import { freshFolder } from '../lib/daemon.mjs';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Starts one with a fresh profile; gives Playwright's context. */
export async function chromium(require, flags) {
  const playwright = require('playwright-core');
  const profile = await freshFolder('profile');
  const context = await playwright.chromium.launchPersistentContext(profile, {
    executablePath: process.env.EXECUTOR_CHROMIUM,
    headless: true,
    args: [...FLAGS, ...flags],
  });
  context.setDefaultTimeout(30_000);
  return {
    context,
    version: context.browser()?.version(),
    stop: async () => {
      await context.close();
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
