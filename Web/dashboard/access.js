// The screen Access: the rules, who can do what, and what must hold.
import { button, empty, field, h, heading, plain, put, table } from "./dom.js";

export async function access({ db, main, database }) {
	const rules = h("textarea.code", { rows: 18, label: "Rules", oninput() { deploy.disabled = true; } }), version = h("p.hint"), outcome = h("div", { role: "status" });
	const deploy = button("Deploy", () => send(false), "primary", { disabled: true }), answer = h("div", { role: "status" }), lines = h("div"), place = `expectations ${database}`;
	await load();
	main.append(heading("Access"), h(".halves", h("section.card", h("h2", "Rules"), version, rules, h(".actions", button("Check", () => send(true)), deploy), outcome),
		h("section.card", h("h2", "Who can?"), form(), answer, h(".actions", h("h2", "What must hold"), button("Run all", run)), lines)));

	async function load() {
		const { version: number, file } = await db.ask("rules");
		version.textContent = number ? `Version ${number} holds.` : "There are none: every user may do everything.";
		rules.value = file && JSON.stringify(JSON.parse(file), null, 2);
	}

	async function send(trial) {
		try {
			const { version, changes, warnings, mayDeploy } = await db.ask("deploy", { rules: rules.value, trial });
			deploy.disabled = !trial || !mayDeploy;
			put(outcome, h("p.good", !trial ? `Version ${version} holds.` : changes.length ? "It would change:" : "It means what holds already."), !mayDeploy && h("p.bad", "By these rules you could not deploy any more."), h("ul.warn", warnings.map((each) => h("li", each))),
				h("dl", changes.map(({ place, before, after }) => [h("dt", place), h("dd.bad", `− ${before ?? "nobody"}`), h("dd.good", `+ ${after ?? "nobody"}`)])));
			if (!trial) load();
		} catch (error) { put(outcome, h("p.bad", error.message)); }
	}

	function form() {
		const [user, key, claims] = ["anonymous", "a key", '{"role": "admin"}'].map((placeholder) => h("input", { placeholder })), choice = (names) => h("select", names.map((name) => h("option", name)));
		const action = choice(["read", "create", "update", "delete"]), name = choice(db.session.schema.classes.map((each) => each.name));
		return h("form.fields", { async onsubmit(event) {
			event.preventDefault();
			try {
				const question = { user: user.value || null, action: action.value, class: name.value, ...(action.value !== "create" && { key: key.value }), ...(claims.value && { claims: JSON.parse(claims.value) }) };
				const { verdict, reason, roles = [], hints = [], rules = [] } = await db.ask("verdict", question);
				put(answer, h(`p.big.${verdict === "allowed" ? "good" : "bad"}`, verdict), h("p", reason), h("p.hint", roles.map((each) => `role ${each} `), hints), h("ul", rules.map((each) => trace(each, each.rule))), button("This must hold", () => store([...stored(), { ...question, expected: verdict }]), "quiet"));
			} catch (error) { put(answer, h("p.bad", error.message)); }
		} }, field("User", user), field("Action", action), field("Class", name), field("Key", key), field("Claims", claims), h("button.primary", "Ask"));
	}

	const trace = ({ condition, outcome, parts = [] }, title = "") => h("li", h(`b.${outcome}`, outcome), ` ${title} `, h("code", condition ?? "no rule"), h("ul", parts.map((each) => trace(each))));
	const stored = () => JSON.parse(localStorage.getItem(place) ?? "[]"), store = (all) => showLines([], localStorage.setItem(place, JSON.stringify(all)));

	function showLines(found) {
		const all = stored();
		put(lines, !all.length ? empty("Ask who can do something, and say that it must hold.") : table("What must hold", [["User", (row) => row.user ?? "anonymous"], plain("Action"), ["Object", (row) => `${row.class}/${row.key ?? "new"}`], plain("Expected"),
			["Outcome", (row) => { const now = found[all.indexOf(row)]; return now && h(`b.${now === row.expected ? "good" : "bad"}`, now); }], ["", (row) => button("Remove", () => store(all.filter((each) => each !== row)), "quiet")]], all));
	}

	async function run() {
		showLines(await Promise.all(stored().map(({ expected, ...question }) => db.ask("verdict", question).then((each) => each.verdict, (error) => error.message))));
	}
	showLines([]);
}
