import Testing

@testable import SluiceCLI

struct ArgumentParserTests {
    private static let description = CommandDescription(
        "sift", "sifts", arguments: [ArgumentDescription("URL", "where")],
        options: [
            .flag("once", "one time"), .value("key", "COLUMN", "the key"),
            .value("link", "SPEC", "links", isRepeatable: true),
            .value("word", "TEXT", "any text", takesEmptyText: true), .choice("format", ["table", "jsonl"], "how"),
        ], examples: ["sluice sift ws://h/d"])

    private func parse(_ words: String...) throws(CommandError) -> ParsedArguments {
        try ArgumentParser(Self.description).parse(words)
    }

    @Test func optionsFlagsAndPositionalsMix() throws {
        let parsed = try parse("--once", "--key=faa", "url", "--link", "a:B", "--link=c:D", "--format=jsonl")
        #expect(parsed.flag("once"))
        #expect(parsed.value("key") == "faa")
        #expect(parsed.values("link") == ["a:B", "c:D"])
        #expect(parsed.value("format") == "jsonl")
        #expect(parsed.positionals == ["url"])
    }

    @Test func valuesMayHoldEqualSignsAndDashesAndOptionsEndAtTwoDashes() throws {
        #expect(try parse("--key=a=b", "url").value("key") == "a=b")
        #expect(try parse("--key=--x", "url").value("key") == "--x")
        #expect(try parse("--", "--key").positionals == ["--key"])
    }

    @Test func theEmptyTextIsAValueWhereTextIsAskedFor() throws {
        #expect(try parse("--word=", "url").value("word") == "")
        #expect(try parse("--word", "", "url").value("word") == "")
        #expect(throws: CommandError.self) { try parse("url", "--word") }
    }

    @Test(arguments: [
        (["url", "--fromat=table"], "did you mean --format?"),
        (["url", "--zebra"], "'sluice sift --help' lists its options"),
        (["url", "-x"], "no option -x"),
        (["url", "--once=1"], "--once takes no value"),
        (["url", "--key"], "--key needs a value"),
        (["url", "--key="], "--key needs a value"),
        (["url", "--key", "--once"], "--key needs a value"),
        (["url", "--key=a", "--key=b"], "--key was given twice"),
        (["url", "--format=xml"], "one of table, jsonl"),
        ([], "URL is missing"),
        ([""], "URL is empty"),
        (["url", "more"], "'more' is one argument too many"),
    ])
    func wrongUsageSaysWhatWouldBeRight(words: [String], message: String) {
        let error = #expect(throws: CommandError.self) {
            try ArgumentParser(Self.description).parse(words)
        }
        #expect(error?.kind == .usage)
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }

    @Test func helpNeedsNothingElse() throws {
        #expect(try parse("--help").flag("help"))
        #expect(try parse("-h").flag("help"))
    }

    @Test(arguments: [
        ("30", 30_000), ("1.5s", 1500), ("500ms", 500), ("2m", 120_000), ("6h", 21_600_000), ("1d", 86_400_000),
    ])
    func durationsHaveUnits(text: String, milliseconds: Int) throws {
        let parsed = try parse("--key=\(text)", "url")
        #expect(try parsed.duration("key") == .milliseconds(milliseconds))
    }

    @Test(arguments: ["0", "-1", "soon", "5w", "500d", "1e9", ""])
    func otherDurationsAreRefused(text: String) throws {
        var parsed = ParsedArguments()
        parsed.add(value: text, of: "key")
        #expect(throws: CommandError.self) { try parsed.duration("key") }
    }

    @Test func helpNamesEverything() {
        let text = HelpText.command(Self.description)
        for part in [
            "sluice sift URL [options]", "--format=table|jsonl", "--link=SPEC", "--help", "sluice sift ws://h/d",
        ] {
            #expect(text.contains(part))
        }
        #expect(HelpText.program([Self.description]).contains("sift"))
    }

    @Test(arguments: [
        "ws://127.0.0.1:9080/nyc", "wss://sync.example.com/cars", "ws://[::1]:80/a-b_C9", "WS://localhost/x",
    ])
    func urlsOfDatabasesAreTaken(text: String) throws {
        #expect(try ServerURL(text).text == text)
    }

    @Test(arguments: [
        "http://h/d", "ws://h", "ws://h/", "ws:///d", "ws://h/a/b", "ws://h/a?b", "ws://h:0/d", "ws://h:x/d",
        "ws://h:70000/d", "ws://u@h/d", "nyc", "ws://h/" + String(repeating: "a", count: 65),
    ])
    func otherURLsAreWrongUsage(text: String) {
        #expect(throws: CommandError.self) { try ServerURL(text) }
    }
}
