// How the origin's page is built: one script and one style, which scripts/player.mjs packs beside the players' own files.
import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  base: "/.page/",
  build: {
    outDir: "../.build/player",
    emptyOutDir: true,
    target: "es2022",
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      output: { entryFileNames: "page.js", chunkFileNames: "[name].js", assetFileNames: "page[extname]" },
    },
  },
} as Parameters<typeof defineConfig>[0]);
