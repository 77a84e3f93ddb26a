// The page: index.html, viewer.js and viewer.css under names that stay, for the server's list of files and for `sonde view --html`.
import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    outDir: process.env.SONDE_VIEWER_OUT ?? "dist",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    rollupOptions: { output: { entryFileNames: "viewer.js", assetFileNames: "viewer[extname]", inlineDynamicImports: true } },
  },
  test: { include: ["tests/**/*.test.{ts,tsx}"], environment: "happy-dom" },
} as Parameters<typeof defineConfig>[0]);
