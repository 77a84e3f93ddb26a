// worker.js: a classic script, since a page that is opened as a file may not load modules.
import { defineConfig } from "vite";

export default defineConfig({
  build: {
    outDir: process.env.SONDE_VIEWER_OUT ?? "dist",
    emptyOutDir: false,
    target: "es2022",
    lib: { entry: "src/transport/worker.ts", formats: ["iife"], name: "sonde", fileName: () => "worker.js" },
  },
});
