import "./sluice.js";
