import Foundation
import Glibc
import SluiceModel
import TestSupport
import Testing

@testable import SluiceCLI

@Suite(.serialized)
struct EndToEndTests {
    private static let planes = "tailnum,year,seats\nN1,1999,55\nN2,NA,182\nN3,2004,2\n"
    private static let flights =
        "flight,tailnum,delay,time_hour\n1,N1,2.5,2013-01-01T10:00:00Z\n2,N9,NA,2013-01-01T11:00:00Z\n3,NA,61,2013-01-02T10:00:00Z\n"

    private func load(_ server: ServerProcess) async throws {
        let planes = try TemporaryFile.packed(Self.planes)
        let flights = try TemporaryFile(Self.flights)
        let first = try await Tool.run("import", server.url(), "Plane", planes.path, "--key=tailnum")
        #expect(first.code == 0, "\(first.diagnostics)")
        let second = try await Tool.run(
            "import", server.url(), "Flight", flights.path, "--key=flight", "--link=tailnum:Plane")
        #expect(second.code == 0, "\(second.diagnostics)")
        #expect(second.diagnostics.contains("imported 3 rows into Flight"))
    }

    private func withoutID(_ line: String) -> String {
        line.replacingOccurrences(of: #""@id":"[0-9a-f]{32}",?"#, with: "", options: .regularExpression)
    }

    @Test func whatWasImportedIsFoundAndExportedAsItWas() async throws {
        try await withServer { server in
            try await load(server)
            let found = try await Tool.run("query", server.url(), "Flight WHERE delay > 1 SORT(delay DESC)")
            #expect(found.code == 0)
            #expect(
                found.lines.map(withoutID) == [
                    #"{"flight":3,"tailnum":null,"delay":61.0,"time_hour":"2013-01-02T10:00:00Z"}"#,
                    #"{"flight":1,"tailnum":"N1","delay":2.5,"time_hour":"2013-01-01T10:00:00Z"}"#,
                ])
            let expanded = try await Tool.run(
                "query", server.url(), "Flight SORT(flight ASC) LIMIT(2)", "--expand=tailnum", "--once")
            #expect(
                expanded.lines.map(withoutID).first
                    == #"{"flight":1,"tailnum":{"tailnum":"N1","year":1999,"seats":55},"delay":2.5,"time_hour":"2013-01-01T10:00:00Z"}"#
            )
            #expect(expanded.lines.last?.contains(#""tailnum":"N9""#) == true)
            let whole = try await Tool.run("export", server.url(), "Flight", "--expand=tailnum")
            #expect(whole.lines.count == 3 && Array(whole.lines.prefix(2)) == expanded.lines)
            let exported = try await Tool.run("export", server.url(), "Flight", "--format=csv")
            let again = try TemporaryFile(exported.lines.joined(separator: "\n") + "\n")
            let planes = try TemporaryFile(Self.planes)
            #expect(try await Tool.run("import", server.url("copy"), "Plane", planes.path, "--key=tailnum").code == 0)
            let copied = try await Tool.run(
                "import", server.url("copy"), "Flight", again.path, "--key=flight", "--link=tailnum:Plane")
            #expect(copied.code == 0, "\(copied.diagnostics)")
            #expect(
                try await Tool.run("export", server.url("copy"), "Flight").lines
                    == Tool.run("export", server.url(), "Flight").lines)
            #expect(
                Set(exported.lines.dropFirst()) == [
                    "1,N1,2.5,2013-01-01T10:00:00Z", "2,N9,,2013-01-01T11:00:00Z", "3,,61.0,2013-01-02T10:00:00Z",
                ])
        }
    }

    @Test func importingTwiceChangesNothing() async throws {
        try await withServer { server in
            try await load(server)
            let before = try await Tool.run("export", server.url(), "Flight").lines
            try await load(server)
            #expect(try await Tool.run("export", server.url(), "Flight").lines == before)
            #expect(before.count == 3)
        }
    }

    @Test func badRowsStopAnImportOrAreSkipped() async throws {
        try await withServer { server in
            let file = try TemporaryFile("id,n\n1,1\n2\n3,3\n")
            let stopped = try await Tool.run("import", server.url(), "Row", file.path, "--key=id")
            #expect(stopped.code == 1)
            #expect(stopped.diagnostics.contains("\(file.path):3: 1 field, and the header has 2"))
            let skipped = try await Tool.run("import", server.url(), "Row", file.path, "--key=id", "--skip-bad-rows")
            #expect(skipped.code == 0, "\(skipped.diagnostics)")
            #expect(skipped.diagnostics.contains("imported 2 rows into Row, 1 bad row skipped"))
            #expect(try await Tool.run("query", server.url(), "Row").lines.count == 2)
            let other = try TemporaryFile("id,n\n4,4\n5,x\n")
            let wrong = try await Tool.run("import", server.url(), "Row", other.path)
            #expect(wrong.code == 1)
            #expect(wrong.diagnostics.contains(":3: column 'n': 'x' is not of type int"))
            #expect(try await Tool.run("query", server.url(), "Row").lines.count == 2)
        }
    }

    @Test func writesAreSeenByAWatcherAsTheyHappen() async throws {
        try await withServer { server in
            try await load(server)
            let watcher = try ChildProcess(
                Tool.path, ["query", server.url(), "Plane WHERE seats > 50", "--watch", "--format=jsonl"], input: nil)
            let fields = ["type", "state", "inserted", "updated", "removed", "count", "total", "exact", "remote"]
            let start = try await watcher.line()
            let first = try #require(try JSONSerialization.jsonObject(with: Data(start.utf8)) as? [String: Any])
            #expect(Set(first.keys) == Set(fields))
            #expect(first["type"] as? String == "initial")
            _ = try await watcher.line(with: "\"state\":\"complete\"", "\"count\":2")
            let writer = try ChildProcess(Tool.path, ["write", server.url()], input: nil)
            writer.write(#"{"op":"insert","class":"Plane","key":"N4","set":{"seats":100}}"# + "\n")
            let inserted = try await watcher.line(with: "\"N4\"")
            #expect(inserted.contains("\"operations\":[\"create\"]"), "\(inserted)")
            writer.write(#"{"op":"update","class":"Plane","key":"N4","set":{"year":1980},"add":{"seats":-1}}"# + "\n")
            let updated = try await watcher.line(with: "\"seats\":99")
            #expect(updated.contains("\"inserted\":[]") && updated.contains("\"year\":1980"), "\(updated)")
            writer.write(#"{"op":"update","class":"Plane","key":"N4","set":{"seats":1}}"# + "\n")
            #expect(try await watcher.line(with: "\"reason\"").contains("\"reason\":\"filter\""))
            writer.write(#"{"op":"delete","class":"Plane","key":"N1"}"# + "\n")
            #expect(try await watcher.line(with: "\"reason\"").contains("\"reason\":\"deleted\""))
            watcher.signal(SIGTERM)
            let end = try await watcher.finish()
            #expect(end.code == 0)
            #expect(end.diagnostics == "")
            writer.closeInput()
            #expect(try await writer.finish().code == 0)
        }
    }

    @Test func aServerWithANameIsNamedByWhatItAccepts() async throws {
        try await withServer(options: ["--worker-id=worker-7"]) { server in
            try await load(server)
            let watcher = try ChildProcess(
                Tool.path, ["query", server.url(), "Plane", "--watch", "--format=jsonl"], input: nil)
            _ = try await watcher.line(with: "\"state\":\"complete\"")
            let insert = #"{"op":"insert","class":"Plane","key":"N4","set":{"seats":100}}"# + "\n"
            #expect(try await Tool.run("write", server.url(), input: insert).code == 0)
            #expect(try await watcher.line(with: "\"N4\"").contains(#""workerID":"worker-7""#))
            watcher.signal(SIGTERM)
            #expect(try await watcher.finish().code == 0)
        }
    }

    @Test func wrongLinesStopAWriteWithTheirNumberAndKeepTheLinesBefore() async throws {
        try await withServer { server in
            try await load(server)
            let insert = #"{"op":"insert","class":"Plane","key":"N5","set":{"seats":1}}"# + "\n"
            for (line, message) in [
                (
                    #"{"op":"insert","class":"Plane","key":"N1"}"#,
                    "stdin:2: Plane has an object with the key 'N1' already"
                ),
                (
                    #"{"op":"update","class":"Plane","key":"N8","set":{"seats":1}}"#,
                    "stdin:2: Plane has no object with the key 'N8' to be changed"
                ),
                (
                    #"{"op":"update","class":"Plane","key":"N1","set":{"wings":2}}"#,
                    "stdin:2: Plane has no property 'wings'"
                ),
                (
                    #"{"op":"delete","class":"Plane","key":"N8"}"#,
                    "stdin:2: Plane has no object with the key 'N8' to be"
                ),
                ("nonsense", "stdin:2: at byte 1"),
            ] {
                let result = try await Tool.run("write", server.url(), input: insert + line + "\n")
                #expect(result.code == 1)
                #expect(result.diagnostics.contains(message), "\(result.diagnostics)")
                #expect(try await Tool.run("query", server.url(), "Plane WHERE tailnum == 'N5'").lines.count == 1)
                #expect(
                    try await Tool.run("write", server.url(), input: #"{"op":"delete","class":"Plane","key":"N5"}"#)
                        .code == 0)
            }
        }
    }

    @Test func anUpsertAddsOrSets() async throws {
        try await withServer { server in
            try await load(server)
            let lines = [
                #"{"op":"upsert","class":"Plane","key":"N1","set":{"year":2013}}"#,
                #"{"op":"upsert","class":"Plane","key":"N7","set":{"seats":7}}"#,
                #"{"op":"upsert","class":"Plane","key":"N7","set":{"year":2014}}"#,
            ]
            let result = try await Tool.run("write", server.url(), input: lines.joined(separator: "\n") + "\n")
            #expect(result.code == 0, "\(result.diagnostics)")
            let query = "Plane WHERE tailnum IN {'N1', 'N7'} SORT(tailnum ASC)"
            #expect(
                try await Tool.run("query", server.url(), query).lines.map(withoutID) == [
                    #"{"tailnum":"N1","year":2013,"seats":55}"#, #"{"tailnum":"N7","year":2014,"seats":7}"#,
                ])
        }
    }

    @Test func whatIsAcknowledgedSurvivesTheServersEnd() async throws {
        let folder = NSTemporaryDirectory() + "sluice-server-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try await withServer(folder: folder) { server in
            try await load(server)
            server.process.signal(SIGTERM)
            #expect(try await server.process.finish().code == 0)
        }
        try await withServer(folder: folder) { server in
            let found = try await Tool.run("query", server.url(), "Plane")
            #expect(found.lines.count == 3)
        }
    }

    @Test func reportsAreJSON() async throws {
        try await withServer { server in
            try await load(server)
            let watcher = try ChildProcess(Tool.path, ["query", server.url(), "Plane", "--watch"], input: nil)
            _ = try await watcher.line(with: "complete")
            let status = try await Tool.run("status", server.url())
            #expect(status.code == 0)
            #expect(status.lines.first?.contains(#"{"name":"Plane","count":3}"#) == true)
            let subscriptions = try await Tool.run("subscriptions", server.url())
            #expect(subscriptions.lines.count == 1)
            #expect(subscriptions.lines.first?.contains(#""query":"Plane"#) == true, "\(subscriptions.lines)")
            watcher.signal(SIGINT)
            #expect(try await watcher.finish().code == 0)
        }
    }

    @Test func aClosedPipeEndsAWatchQuietlyWhileNothingHappens() async throws {
        try await withServer { server in
            try await load(server)
            let result = try shell(
                "\(Tool.path) query \(server.url()) Plane --watch | head -n 1; echo ${PIPESTATUS[0]}")
            #expect(result.hasSuffix("\n0\n"), "\(result)")
        }
    }

    @Test(arguments: [
        (["query", "ws://127.0.0.1:1/x", "Car WHERE"], 64, "query, at byte"),
        (["query", "ws://127.0.0.1:1/x", "Car", "--watch", "--once"], 64, "exclude each other"),
        (["query", "ws://127.0.0.1:1/x", "Car", "--format=xml"], 64, "table, jsonl"),
        (["query", "nowhere", "Car"], 64, "not the URL of a database"),
        (["query", "ws://127.0.0.1:1/x"], 64, "QUERY is missing"),
        (
            ["query", "ws://127.0.0.1:1/x", "Car EXCLUDE(dealer)", "--expand=owners,dealer.city"], 64,
            "--expand=dealer.city: the query excludes it"
        ),
        (
            ["query", "ws://127.0.0.1:1/x", "Car AGGREGATE(@count)", "--expand=dealer"], 64,
            "AGGREGATE finds no objects"
        ),
        (
            ["query", "ws://127.0.0.1:1/x", "OBJECT(00000000000000000000000000000001)", "--format=csv"], 64,
            "--format=csv needs a query that names a class"
        ),
        (
            ["export", "ws://127.0.0.1:1/x", "Car AGGREGATE(@count)", "--since=/tmp/x"], 64,
            "CLASS is the name of a class"
        ),
        (
            ["run", "ws://127.0.0.1:1/x", "Car GROUP(name) AGGREGATE(@count)", "--name=cars", "--", "true"], 64,
            "AGGREGATE computes figures"
        ),
        (["run", "ws://127.0.0.1:1/x", "Car WHERE price < $0", "--name=cars", "--", "true"], 64, "$0 is missing"),
        (["query", "ws://127.0.0.1:1/x", "Car", "--ca-file=/x"], 64, "--ca-file is for wss"),
        ([String(repeating: "x", count: 100_000)], 64, "xxx…'; 'sluice"),
        (["help", "qurey"], 64, "did you mean 'query'?"),
        (["qurey"], 64, "did you mean 'query'?"), ([], 64, "a command is missing"),
        (["serve", "--data=/tmp/x"], 64, "no login method"), (["serve", "--dev"], 64, "--data=DIR is missing"),
        (["serve", "--dev", "--data=/tmp/x", "--listen=8080"], 64, "HOST:PORT"),
        (["serve", "--dev", "--data=/tmp/x", "--listen=0.0.0.0:0"], 64, "loopback"),
        (["import", "ws://127.0.0.1:1/x", "Car", "/nonexistent.csv"], 1, "/nonexistent.csv: no such file"),
        (["import", "ws://127.0.0.1:1/x", "Car", "/etc/passwd"], 64, ".csv or .jsonl"),
        (["import", "ws://127.0.0.1:1/x", "Car", "/tmp/a.csv", "--link=a"], 64, "--link=COLUMN:CLASS"),
        (["query", "ws://127.0.0.1:1/x", "Car", "--timeout=300ms"], 1, "no connection within 0.3 s"),
        (["write", "ws://127.0.0.1:1/x", "--timeout=300ms"], 1, "no connection"),
    ])
    func failuresHaveTheirExitCode(arguments: [String], code: Int32, message: String) async throws {
        let result = try await ChildProcess(Tool.path, arguments).finish()
        #expect(result.code == code)
        #expect(result.diagnostics.contains(message), "\(result.diagnostics)")
        #expect(result.diagnostics.hasPrefix("sluice: "))
        #expect(result.lines.isEmpty)
    }

    @Test(arguments: [
        ("Car", "no database 'test'"), ("Plane WHERE wings > 1", "wings"),
        ("Plane WHERE tailnum > 'x' AND", "query, at byte"),
    ])
    func unknownNamesFailAlsoWhereThereIsNoDatabase(query: String, message: String) async throws {
        try await withServer { server in
            if query != "Car" { try await load(server) }
            let result = try await Tool.run("query", server.url(), query)
            #expect(result.code == (query.hasSuffix("AND") ? 64 : 1))
            #expect(result.diagnostics.contains(message), "\(result.diagnostics)")
            #expect(try await Tool.run("export", server.url("empty"), "Car").code == 1)
        }
    }

    @Test func helpAndVersionAreOutput() async throws {
        #expect(try await Tool.run("--version").lines == ["sluice \(SluiceRelease.version)"])
        let help = try await Tool.run("--help")
        #expect(help.code == 0)
        for command in Program.sluice.descriptions {
            #expect(help.lines.contains { $0.hasPrefix("  \(command.name)") })
            let own = try await Tool.run(command.name, "--help")
            #expect(own.code == 0)
            #expect(own.lines.contains("Usage: \(command.usage)"))
            #expect(own.lines.contains("Examples:"))
            #expect(try await Tool.run("help", command.name).lines == own.lines)
        }
        #expect(try await Tool.run("help").lines == help.lines)
    }

    @Test(arguments: [
        ("--version >&-", 1, "sluice: standard output: it is closed\n"),
        ("write ws://127.0.0.1:1/x --timeout=300ms <&-", 1, "no connection within 0.3 s"),
        ("query ws://127.0.0.1:1/x $'Car WHERE a == \\'\\xff\\xfe\\''", 64, "argument 3, "),
    ])
    func streamsThatAreClosedAndBytesThatAreNoTextAreNamed(command: String, code: Int, message: String) throws {
        let result = try shell("\(Tool.path) \(command) 2>&1; echo $?".replacing(">&- 2>&1", with: "2>&1 >&-"))
        #expect(result.hasSuffix("\n\(code)\n") && result.contains(message), "\(result)")
    }

    @Test(arguments: [
        (["sluice", "quer"], "query"), (["sluice", "query", "--wa"], "--watch"),
        (["sluice", "query", "--format", "=", "ta"], "table"),
        (["sluice", "query", "--format", "="], "table jsonl csv"), (["sluice", "completion", "f"], "fish"),
    ])
    func bashCompletes(words: [String], expected: String) throws {
        let list = words.map { "'\($0)'" }.joined(separator: " ")
        let script = """
            source <(\(Tool.path) completion bash)
            COMP_WORDS=(\(list)); COMP_CWORD=\(words.count - 1); _sluice; echo "${COMPREPLY[*]}"
            """
        #expect(try shell(script) == expected + "\n")
    }

    @Test(arguments: ["zsh", "fish"])
    func otherShellsNameEveryCommandAndOption(name: String) async throws {
        let text = try await Tool.run("completion", name).lines.joined(separator: "\n")
        for command in Program.sluice.descriptions {
            for option in command.options {
                #expect(text.contains(name == "zsh" ? "--\(option.name)" : "-l \(option.name)"))
            }
        }
    }

    /// Runs a bash script and returns its output. The output goes through a file, because a program that another test
    /// starts at the same moment would keep a pipe open.
    private func shell(_ script: String) throws -> String {
        let path = FileManager.default.temporaryDirectory.path + "/sluice-shell-\(UUID().uuidString)"
        defer { for suffix in [".sh", ".out"] { try? FileManager.default.removeItem(atPath: path + suffix) } }
        try script.write(toFile: path + ".sh", atomically: true, encoding: .utf8)
        _ = system("timeout 60 bash '\(path).sh' > '\(path).out' < /dev/null")
        return try String(contentsOfFile: path + ".out", encoding: .utf8)
    }
}
