// Tells TypeScript that styles may be imported; Vite gathers them.
declare module "*.css";
