/** Imports a module of Node.js. Bundlers for browsers must not look for it. */
export const nodeModule = (name) =>
  import(/* @vite-ignore */ /* webpackIgnore: true */ `node:${name}`);
