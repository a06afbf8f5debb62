// The screens about the server.
import { address } from "./app.js";
import { ago, button, bytes, count, empty, every, figure, h, heading, plain, put, renew, show, svg, table, toast } from "./dom.js";
import { targetOf } from "./querybox.js";

export function subscriptions({ db, main, signal }) {
	const list = h("div");
	main.append(heading("Subscriptions"), list);
	every(2, signal, async () => {
		const { queries } = await db.ask("top"), most = Math.max(1, ...queries.map((each) => each.applyingMicroseconds));
		queries.sort((a, b) => b.applyingMicroseconds - a.applyingMicroseconds);
		renew(list, !queries.length ? empty("No client observes a query.") : table("Live queries", [
			["Query", ({ query }) => h("a", { href: address("query", { q: query }) }, h("code", query)), "wide"], ["Cost", (row) => h("progress", { max: most, value: row.applyingMicroseconds, label: "Cost" })], figure("ms", "applyingMicroseconds", (value) => (value / 1000).toFixed(1)),
			figure("Subscribers", "subscribers"), figure("Rows", "rows"), figure("Found", "found"), figure("Changed", "changed"), figure("Sent", "sentBytes", bytes)], queries));
	});
}

export function sessions({ db, main, signal }) {
	const list = h("div"), end = async (id) => { await db.ask("endSession", { session: id }); toast(`Session ${id} has ended.`, "good"); };
	main.append(heading("Sessions"), list);
	every(2, signal, async () => {
		const rows = await db.ask("sessions");
		renew(list, table("Sessions", [plain("Session"), plain("Database"), ["User", (row) => row.user ?? "anonymous"], plain("Login"), plain("Address"), figure("Since", "since", ago),
			figure("Subscriptions", "subscriptions"), figure("Loading", "incomplete"), figure("Lag", "versionLag"), figure("Waiting", "waitingBytes", bytes), ["", (row) => button("End", () => end(row.session), "bad", { label: `End session ${row.session}` })]], rows));
	});
}

export async function schema({ db, main }) {
	const { classes, properties } = await db.ask("schema");
	main.append(heading("Schema"), h(".cards", classes.map(({ name, key, count: objects }) => h("section.card", h("h2", name, h("small", ` ${count(objects)} objects`)),
		h("p.hint", key === "@id" ? "No primary key." : `Primary key ${key}.`, properties.filter((each) => targetOf(each) === name).slice(0, 6).map((each) => ` Linked from ${each.class}.${each.name}.`)),
		table(`Properties of ${name}`, [["Property", (row) => h("code", row.name)], plain("Type"), plain("Index")], properties.filter((each) => each.class === name).slice(0, 300))))));
}

export function log({ db, main, signal }) {
	const lines = h(".log", { role: "log", tabindex: 0, label: "Log" });
	main.append(heading("Log"), lines);
	let after = 0;
	every(2, signal, async () => {
		const isAtEnd = lines.scrollTop + lines.clientHeight > lines.scrollHeight - 40;
		for (const { number, time, level, domain, message, details } of await db.ask("log", { after })) {
			after = number;
			lines.append(h(`.line.${level}`, h("time", time.slice(11, 23)), h("b", level), h("i", domain), h("span", `${message} `, h("small", show(details, 500)))));
			if (lines.children.length > 1000) lines.firstChild.remove();
		}
		if (isAtEnd) lines.scrollTop = lines.scrollHeight;
	});
}

// Title, metric, words, whether as growth a second.
const charts = [["Sessions", "sessions"], ["Subscriptions", "subscriptions"], ["Live queries", "views"], ["Commits a second", "commits_total", undefined, true], ["Sent a second", "sent_bytes_total", bytes, true], ["Waiting to be sent", "waiting_bytes", bytes], ["Databases", "database_bytes", bytes]];

export function health({ db, main, signal }) {
	const facts = h("output.state"), area = h(".cards"), samples = charts.map(() => []);
	main.append(heading("Health", facts), area);
	let before;
	every(2, signal, async () => {
		const [state, metrics] = await Promise.all([db.ask("health"), db.ask("metrics")]);
		facts.textContent = state.ready ? "ready" : "not ready";
		facts.dataset.state = state.ready ? "open" : "";
		const values = charts.map(([, name]) => metrics.filter((each) => each.name === `sluice_server_${name}`).reduce((sum, each) => sum + each.value, 0));
		put(area, charts.map(([title, , words = count, isRate], index) => {
			samples[index] = [...samples[index], isRate ? Math.max(0, values[index] - (before ?? values)[index]) / 2 : values[index]].slice(-150);
			return h("section.card", h("h2", title), h("p.big", words(Math.round(samples[index].at(-1)))), curve(title, samples[index]));
		}));
		before = values;
	});
}

function curve(title, values) {
	const most = Math.max(1, ...values), points = values.map((value, index) => `${(index * 300) / Math.max(20, values.length - 1)},${(58 - (value / most) * 54).toFixed(1)}`);
	return svg("svg", { viewBox: "0 0 300 60", preserveAspectRatio: "none", class: "curve", role: "img", label: `${title}, at most ${Math.round(most)}` }, svg("polygon", { points: `0,60 ${points.join(" ")} ${points.at(-1).split(",")[0]},60` }), svg("polyline", { points: points.join(" ") }));
}

export function jobs({ db, main, signal }) {
	const list = h(".stack"), dead = h(".stack");
	main.append(heading("Jobs"), list, dead);
	const given = (kind) => (row) => button(count(row.dead), () => showDead(kind, row.name), "chip", { disabled: !row.dead, label: `${row.dead} given up by ${row.name}` });
	every(2, signal, async () => {
		const [consumers, queues] = await Promise.all([db.ask("consumers"), db.ask("queues")]);
		renew(list, h("h2", "Consumers"), consumers.length ? table("Consumers", [plain("Name"), ["Query", (row) => h("code", row.query), "wide"], figure("Lag", "lag"), figure("Handled", "handled"), ["Given up", given("consumer"), "right"], figure("Committed", "committedAt", (time) => time && ago(time))], consumers) : empty("No consumer"),
			h("h2", "Queues"), queues.length ? table("Queues", [plain("Name"), ["Query", (row) => h("code", row.query || ""), "wide"], figure("At work, or to be tried again", "claims"), ["Given up", given("queue"), "right"]], queues) : empty("No queue"));
	});

	async function showDead(kind, name) {
		const letters = await db.ask("dead", { [kind]: name }), act = (report, row) => async () => { await db.ask(report, { [kind]: name, class: row.class, key: row.key }); showDead(kind, name); };
		put(dead, h("h2", `Given up by ${name}`), table("Given up", [["Object", (row) => `${row.class}/${row.key}`], figure("Attempts", "attempts"), figure("Last", "time", ago), ["Error", (row) => row.error, "wide"],
			["", (row) => [button("Retry", act("retry", row), "", { label: `Retry ${row.class}/${row.key}` }), button("Discard", act("discard", row), "bad", { label: `Discard ${row.class}/${row.key}` })]]], letters));
	}
}
