// The frame: database, screen, login. The address says it all: #/DATABASE/SCREEN?q=QUERY.
import { Sluice } from "./sluice.js";
import { button, field, h, put, toast } from "./dom.js";
import { data } from "./data.js";
import { query } from "./query.js";
import { access } from "./access.js";
import { health, jobs, log, schema, sessions, subscriptions } from "./server.js";

const screens = { data, query, subscriptions, sessions, access, schema, log, health, jobs }, names = Object.keys(screens);
const title = (name) => name[0].toUpperCase() + name.slice(1), element = (id) => document.getElementById(id);
const root = location.origin.replace("http", "ws");
let db, database = "", credentials, leaving = new AbortController(), databases = [];

function place() {
	const [path, search] = location.hash.slice(1).split("?"), [, name = "", screen] = path.split("/");
	return { name, screen: names.includes(screen) ? screen : "data", parameters: new URLSearchParams(search) };
}

export const address = (screen, parameters = {}, name = database) => `#/${name}/${screen}?${new URLSearchParams(parameters)}`;

function connect(name) {
	db?.close();
	database = name;
	db = Sluice(`${root}/${name}`, { credentials });
	db.onstate = showState;
	db.ask("databases").then(showDatabases, () => {});
}

function showState() {
	element("connection").textContent = db.state;
	element("connection").dataset.state = db.state;
	element("user").textContent = db.state === "open" ? db.session.user ?? "anonymous" : "Log in";
	if (db.state === "refused") logIn(db.error.message);
}

function showDatabases(all = databases) {
	databases = all;
	put(element("database"), [...new Set([...all, database])].map((name) => h("option", { selected: name === database }, name)), h("option", { value: "" }, "Another…"));
}

function render() {
	const { name, screen, parameters } = place(), main = element("main");
	leaving.abort();
	leaving = new AbortController();
	if (!name) return begin(main);
	if (name !== database) connect(name);
	document.title = `${title(screen)} · ${name}`;
	showDatabases();
	showState();
	put(element("screens"), names.map((each, index) => h("a", { href: address(each), "aria-current": each === screen && "page", title: `g ${index + 1}` }, title(each))));
	main.className = `on-${screen}`;
	put(main);
	screens[screen]({ db, main, parameters, database, signal: leaving.signal, go: (...parts) => { location.hash = address(...parts); } });
}

/** Without a database in the address. */
async function begin(main) {
	const asking = Sluice(`${root}/_`, { readonly: true });
	await new Promise((done) => { asking.onstate = () => asking.state === "refused" && done(); asking.ask("databases").then((all) => done(databases = all.filter((each) => each !== "_")), done); });
	asking.close();
	if (databases.length === 1 && !database) return location.hash = address("data", {}, databases[0]);
	if (!place().name) put(main, h(".card.stack", h("h1", "Which database?"), databases.map((each) => h("p", h("a", { href: address("data", {}, each) }, each))), button("Another", another, "primary")));
}

function another() {
	const name = prompt("The name of a database, such as nyc");
	if (name) location.hash = address("data", {}, name);
}

function dialog(title, ...parts) {
	if (document.querySelector("dialog")) return;
	const box = h("dialog", { label: title, onclose: () => box.remove() }, h("form.stack", { method: "dialog" }, h("h2", title), parts));
	document.body.append(box);
	box.showModal();
	return box;
}

function logIn(message) {
	const user = h("input", { autocomplete: "username" }), password = h("input", { type: "password" }), token = h("input", { type: "password" });
	dialog(`Log in to ${database}`, message && h("p.bad", { role: "alert" }, message), field("User", user), field("Password", password),
		field("Or a token", token), h("button.primary", "Log in"))
		?.addEventListener("submit", () => {
			if (!token.value && !user.value) return;
			credentials = token.value ? { token: token.value.trim() } : { user: user.value, password: password.value };
			connect(database);
			render();
		});
}

const keys = ["/ to the query line", "g 1 … g 9 to a screen", "g d to the databases", "Arrows, Page, Home, End move", "Enter changes a cell; Escape leaves it, Ctrl Delete makes it null", "Space shows the object, o follows the link"];
const showKeys = () => dialog("Keys", keys.map((each) => h("p", each)), h("button.primary", "Close"));

let isGoing = false;
addEventListener("keydown", (event) => {
	if (event.target.closest?.("input, textarea, select, dialog") || event.ctrlKey || event.metaKey || event.altKey) return;
	const wasGoing = isGoing;
	isGoing = event.key === "g";
	if (event.key === "?") showKeys();
	if (event.key === "/") { document.querySelector(".ask input")?.focus(); event.preventDefault(); }
	if (wasGoing && event.key === "d") element("database").focus();
	if (wasGoing && names[event.key - 1]) location.hash = address(names[event.key - 1]);
});
addEventListener("hashchange", render);
addEventListener("unhandledrejection", (event) => { event.preventDefault(); toast(event.reason.message, "bad"); });
element("keys").onclick = showKeys;
element("user").onclick = () => logIn();
element("database").onchange = ({ target }) => { target.value ? location.hash = address(place().screen, {}, target.value) : another(showDatabases()); };
render();
