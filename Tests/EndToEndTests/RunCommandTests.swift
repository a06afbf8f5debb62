import Foundation
import Glibc
import SluiceModel
import TestSupport
import Testing

/// `sluice run`, `consumers` and `queues` as processes, with programs that count what they do in the database.
@Suite(.timeLimit(.minutes(10))) struct RunCommandTests {
    /// Marks each mail as sent, and adds one to a counter in the same transaction.
    private static let sending = #"""
        awk -F'"id":' '{ split($2, part, /[,}]/)
          print "{\"op\":\"upsert\",\"class\":\"Mail\",\"key\":" part[1] ",\"set\":{\"isSent\":true}}"
          print "{\"op\":\"update\",\"class\":\"Count\",\"key\":\"sent\",\"add\":{\"n\":1}}" }'
        """#

    /// Keeps a copy of each mail, and counts.
    private static let copying = #"""
        awk '/"upsert"/ { split($0, half, /"id":/); split(half[2], part, /[,}]/)
            print "{\"op\":\"upsert\",\"class\":\"Copy\",\"key\":" part[1] ",\"set\":{\"isThere\":true}}" }
          /"remove"/ { split($0, half, /"key":/); split(half[2], part, /[,}]/)
            print "{\"op\":\"upsert\",\"class\":\"Copy\",\"key\":" part[1] ",\"set\":{\"isThere\":false}}" }'
        """#

    private static let unsent = "Mail WHERE isSent == false SORT(id ASC)"

    private func write(_ lines: [String], to url: String) async throws {
        let exit = try await Tool.run("write", url, input: lines.joined(separator: "\n") + "\n")
        try #require(exit.code == 0, "\(exit.diagnostics)")
    }

    private func mails(_ numbers: some Sequence<Int>, isSent: Bool = false) -> [String] {
        numbers.map { #"{"op":"upsert","class":"Mail","key":\#($0),"set":{"isSent":\#(isSent)}}"# }
    }

    /// Declares the classes and makes what the tests work at.
    private func prepare(_ url: String, count: Int) async throws {
        let folder = NSTemporaryDirectory() + "sluice-run-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for (name, text) in [
            ("Mail", "id,isSent\n0,true\n"), ("Count", "name,n\nsent,0\n"), ("Copy", "id,isThere\n0,false\n"),
        ] {
            try text.write(toFile: "\(folder)/\(name).csv", atomically: true, encoding: .utf8)
            let key = name == "Count" ? "name" : "id"
            let exit = try await Tool.run("import", url, name, "\(folder)/\(name).csv", "--key=\(key)")
            try #require(exit.code == 0, "\(exit.diagnostics)")
        }
        try await write(mails(1...count), to: url)
    }

    private func lines(_ query: String, _ url: String) async throws -> [String] {
        let exit = try await Tool.run("query", url, query, "--format=jsonl")
        try #require(exit.code == 0, "\(exit.diagnostics)")
        return exit.lines
    }

    private func sentCount(_ url: String) async throws -> Int {
        let line = try await lines("Count", url).first ?? ""
        return Int(line.split(separator: "\"n\":").last?.prefix { $0.isNumber } ?? "") ?? -1
    }

    @Test func aProgramDoesEachRowOnceAndADeadRowIsListedAndRetried() async throws {
        try await withServer { server in
            let url = server.url()
            try await prepare(url, count: 50)
            let exit = try await Tool.run(
                "run", url, Self.unsent, "--name=mail", "--once", "--batch=7", "--workers=3", "--", "sh", "-c",
                Self.sending)
            #expect(exit.code == 0 && exit.diagnostics.contains("50 objects are done"), "\(exit.diagnostics)")
            #expect(try await sentCount(url) == 50)
            #expect(try await lines(Self.unsent, url).isEmpty)

            try await write(mails([60]), to: url)
            let failed = try await Tool.run(
                "run", url, Self.unsent, "--name=mail", "--once", "--attempts=1", "--", "sh", "-c", "exit 3")
            #expect(failed.code == 2 && failed.diagnostics.contains("exit code 3"), "\(failed.diagnostics)")
            #expect(failed.diagnostics.contains("Mail 60 is given up after 1 attempt: the program ended"))
            #expect(failed.diagnostics.contains("1 object was given up, and 'sluice queues' lists it"))
            let dead = try await Tool.run("queues", url, "--dead=mail", "--format=jsonl")
            #expect(dead.lines.count == 1 && dead.lines.first?.contains("exit code 3") == true, "\(dead.lines)")
            #expect(
                try await Tool.run("queues", url, "--format=jsonl").lines == [
                    #"{"name":"mail","waiting":0,"retries":0,"next":null,"claims":0,"dead":1,"query":"\#(Self.unsent)"}"#
                ])
            let retry = try await Tool.run("queues", url, "--retry=mail")
            #expect(retry.code == 0, "\(retry.diagnostics)")
            // What is put off counts as no attempt.
            let putOff = try await Tool.run(
                "run", url, Self.unsent, "--name=mail", "--once", "--attempts=1", "--", "sh", "-c", "exit 75")
            #expect(putOff.code == 75, "\(putOff.diagnostics)")
            #expect(putOff.diagnostics.contains("1 row that failed or was put off is left for another try"))
            #expect(try await Tool.run("queues", url, "--dead=mail", "--format=jsonl").lines.isEmpty)
            let unknown = try await Tool.run("queues", url, "--dead=nope")
            #expect(
                unknown.code == 1 && unknown.diagnostics.contains("there is no queue 'nope'"), "\(unknown.diagnostics)")
        }
    }

    @Test func `a run that ends with rows undone says why and has an exit code of its own`() async throws {
        try await withServer { server in
            let url = server.url()
            try await prepare(url, count: 3)
            let idle = try await Tool.run(
                "run", url, Self.unsent, "--name=idle", "--once", "--attempts=1", "--batch=1", "--", "true")
            #expect(idle.code == 2 && idle.diagnostics.contains("still matches"), "\(idle.diagnostics)")
            let discarded = try await Tool.run("queues", url, "--discard=idle")
            #expect(discarded.diagnostics.contains("3 rows are listed no more"))
            #expect(try await Tool.run("queues", url, "--dead=idle", "--format=jsonl").lines.isEmpty)
            let poison = #"in=$(cat); case "$in" in *'"id":2,'*) exit 3;; esac; exit 0"#
            func follow(_ options: String...) async throws -> ChildProcess.Exit {
                try await Tool.run(
                    ["run", url, "Mail WHERE isSent == false", "--name=copies", "--changes", "--once", "--attempts=1"]
                        + options + ["--", "sh", "-c", poison])
            }
            let parked = try await follow()
            #expect(parked.code == 2, "\(parked.diagnostics)")
            #expect(parked.diagnostics.contains("1 object was given up"), "\(parked.diagnostics)")
            #expect(parked.diagnostics.contains("Mail 2 is given up after 1 attempt: the program ended"))
            #expect(try await follow().code == 0)
            #expect(try await Tool.run("consumers", url, "--retry=copies").diagnostics.contains("1 object is"))
            #expect(try await follow().code == 2)
            #expect(try await Tool.run("consumers", url, "--discard=copies").diagnostics.contains("1 object is"))
            #expect(try await Tool.run("consumers", url, "--dead=nope").code == 1)
            #expect(try await follow("--batch=5000").code == 0)
            let large = try await Tool.run("run", url, Self.unsent, "--name=mail", "--batch=1001", "--", "true")
            #expect(
                large.code == 64 && large.diagnostics.contains("--batch is at most 1,000: "), "\(large.diagnostics)")
        }
    }

    @Test func `a run of changes with --once leaves the name to one that is at work`() async throws {
        try await withFolder { folder in
            try await withServer { server in
                let url = server.url()
                try await prepare(url, count: 3)
                let words = ["run", url, "Mail WHERE isSent == false", "--name=copies", "--changes"]
                let waiting = "cat > /dev/null; echo $SLUICE_BATCH >> \(folder)/begun; trap '' TERM; sleep 600"
                let first = try ChildProcess(Tool.path, words + ["--", "sh", "-c", waiting])
                try await wait(for: "the first") { FileManager.default.fileExists(atPath: folder + "/begun") }
                let second = try await Tool.run(words + ["--once", "--", "true"])
                #expect(second.code == 75 && second.diagnostics.contains("is at work"), "\(second.diagnostics)")
                // A program that does not heed SIGTERM is killed in the end.
                first.signal(SIGTERM)
                #expect(try await first.finish().code == 0)
                // One that has ended in order has left the name, also where it was told to end.
                try FileManager.default.removeItem(atPath: folder + "/begun")
                let ended = try ChildProcess(
                    Tool.path,
                    words + ["--once", "--", "sh", "-c", "echo > \(folder)/begun; sleep 600"])
                try await wait(for: "the third") { FileManager.default.fileExists(atPath: folder + "/begun") }
                ended.signal(SIGTERM)
                #expect(try await ended.finish().code == 0)
                let next = try await Tool.run(words + ["--once", "--", "true"])
                #expect(next.code == 0, "\(next.diagnostics)")
            }
        }
    }

    @Test func `a run of changes that stands by goes on when the other has ended`() async throws {
        try await withFolder { folder in
            try await withServer { server in
                let url = server.url()
                try await prepare(url, count: 3)
                func start(_ name: String) throws -> ChildProcess {
                    try ChildProcess(
                        Tool.path,
                        [
                            "run", url, "Mail WHERE isSent == false", "--name=copies", "--changes", "--standby", "--",
                            "sh", "-c", "cat >> \(folder)/\(name)",
                        ])
                }
                func has(_ name: String, _ key: Int) -> Bool {
                    (try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8))?.contains("\"id\":\(key),")
                        ?? false
                }
                let first = try start("first")
                try await wait(for: "the first") { has("first", 3) }
                let second = try start("second")
                #expect(try await second.line(.diagnostics, with: "This one stands by").contains("'copies'"))
                try await write(mails([4]), to: url)
                try await wait(for: "the first once more") { has("first", 4) }
                // What was not committed would come again.
                try await wait(for: "its commit") {
                    try await Tool.run("consumers", url, "--format=jsonl").lines.first?.contains(#""handled":4"#)
                        == true
                }
                first.signal(SIGTERM)
                #expect(try await first.finish().code == 0)
                try await write(mails([5]), to: url)
                try await wait(for: "the second") { has("second", 5) }
                #expect(!has("second", 4) && !has("first", 5))
                _ = try await second.line(.diagnostics, with: "has the name 'copies' now")
                second.signal(SIGTERM)
                #expect(try await second.finish().code == 0)
                let wrong = try await Tool.run("run", url, "Mail", "--name=mail", "--standby", "--", "true")
                #expect(wrong.code == 64 && wrong.diagnostics.contains("--standby is for --changes"))
            }
        }
    }

    @Test func `a batch of changes that its program puts off with 75 comes again under its name`() async throws {
        try await withFolder { folder in
            try await withServer { server in
                let url = server.url()
                try await prepare(url, count: 3)
                let script =
                    "echo $SLUICE_BATCH >> \(folder)/batches; cat >> \(folder)/lines; "
                    + "[ $(wc -l < \(folder)/batches) -ge 3 ] || exit 75"
                // With one attempt a failure would put the objects aside.
                let exit = try await Tool.run(
                    "run", url, "Mail WHERE isSent == false", "--name=copies", "--changes", "--once", "--attempts=1",
                    "--", "sh", "-c", script)
                #expect(exit.code == 0 && exit.diagnostics.contains("3 objects are done"), "\(exit.diagnostics)")
                #expect(exit.diagnostics.components(separatedBy: "put it off with exit code 75").count == 3)
                func lines(_ name: String) throws -> [String] {
                    try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8).split(separator: "\n").map(
                        String.init)
                }
                let batches = try lines("batches")
                #expect(batches.count == 3 && Set(batches).count == 1, "\(batches)")
                let given = try lines("lines")
                #expect(given.count == 9 && Set(given).count == 3, "\(given)")
                #expect(try await Tool.run("consumers", url, "--dead=copies", "--format=jsonl").lines.isEmpty)
            }
        }
    }

    @Test(arguments: [[], ["--changes"]]) func `a program ends with what it has started when its command is killed`(
        options: [String]
    ) async throws {
        try await withFolder { folder in
            try await withServer { server in
                let url = server.url()
                try await prepare(url, count: 1)
                let script = "sleep 600 & echo $$ $! > \(folder)/draft; mv \(folder)/draft \(folder)/ids; wait"
                let command = try ChildProcess(
                    Tool.path,
                    ["run", url, "Mail WHERE isSent == false", "--name=mail"] + options + ["--", "sh", "-c", script])
                try await wait(for: "the program") { FileManager.default.fileExists(atPath: folder + "/ids") }
                let ids = try String(contentsOfFile: folder + "/ids", encoding: .utf8).split(
                    whereSeparator: \.isWhitespace)
                #expect(ids.count == 2 && ids.allSatisfy { isRunning($0) })
                command.signal(SIGKILL)
                _ = try await command.finish()
                try await wait(for: "the end of the program") { !ids.contains { isRunning($0) } }
            }
        }
    }

    /// Whether there is a process that has not ended.
    @Test func `a program that was started just before its command was killed ends, too`() async throws {
        // Nobody has told the guard of these: each has a process group of its own, and one of them is another command's.
        let script = "set -m; SLUICE_GUARD=mine sleep 600 & echo $!; SLUICE_GUARD=other sleep 600 & echo $!; wait"
        let programs = try ChildProcess("/bin/bash", ["-c", script])
        let ids = [Substring(try await programs.line()), Substring(try await programs.line())]
        let guardian = try ChildProcess(Tool.path, ["--guard-programs", "mine"])
        _ = try await guardian.finish()
        try await wait(for: "the end of the program") { !isRunning(ids[0]) }
        #expect(isRunning(ids[1]))
        for id in ids { if let process = pid_t(id) { kill(process, SIGKILL) } }
        _ = try await programs.finish()
    }

    private func isRunning(_ id: Substring) -> Bool {
        guard let text = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8) else { return false }
        // Behind the name, which is in parentheses, comes the state.
        return text.split(separator: ")").last?.drop { $0 == " " }.first.map { !"ZX".contains($0) } ?? false
    }

    @Test func changesAreHandledOnceAndTheNextRunHandlesWhatHasChangedSince() async throws {
        try await withServer { server in
            let url = server.url()
            try await prepare(url, count: 40)
            func run() async throws -> String {
                let exit = try await Tool.run(
                    "run", url, "Mail WHERE isSent == false", "--name=copies", "--changes", "--once", "--batch=9", "--",
                    "sh", "-c", Self.copying)
                try #require(exit.code == 0, "\(exit.diagnostics)")
                return exit.diagnostics
            }
            #expect(try await run().contains("40 objects are done"))
            #expect(try await run().contains("0 objects are done"))
            try await write(mails(5...7, isSent: true) + mails([41]), to: url)
            #expect(try await run().contains("4 objects are done"))
            let there = try await lines("Copy WHERE isThere == true SORT(id ASC)", url)
            let unsent = try await lines("Mail WHERE isSent == false SORT(id ASC)", url)
            #expect(there.count == 38 && unsent.count == 38)
            let consumers = try await Tool.run("consumers", url, "--format=jsonl").lines
            #expect(consumers.count == 1 && consumers[0].contains(#""name":"copies""#), "\(consumers)")
            #expect(consumers.first?.contains(#""handled":44"#) == true, "\(consumers)")
            #expect(try await Tool.run("consumers", url, "--remove=copies").code == 0)
            #expect(
                try await Tool.run("consumers", url, "--remove=copies").diagnostics.contains("there is no consumer"))
        }
    }

    @Test func commandsAndServersThatAreKilledDoEachRowOnce() async throws {
        try await withFolder { folder in
            var generator = SeededGenerator(seed: 33)
            let port = try UnusedPort.next()
            var server = try await ServerProcess.start(folder: folder + "/data", port: port)
            let url = server.url()
            let count = 400
            try await prepare(url, count: count)
            let arguments = [
                "run", url, Self.unsent, "--name=mail", "--batch=5", "--workers=2", "--lease=1s", "--", "sh", "-c",
                Self.sending,
            ]
            for round in 0..<8 {
                let command = try ChildProcess(Tool.path, arguments)
                let before = try await sentCount(url)
                let goal = min(count, before + Int.random(in: 5...60, using: &generator))
                try await wait(for: "row \(goal) in round \(round)") { try await sentCount(url) >= goal }
                command.signal(SIGKILL)
                if round % 3 == 1 {
                    try await server.kill()
                    server = try await ServerProcess.start(folder: folder + "/data", port: port)
                }
                _ = try await command.finish()
            }
            let last = try ChildProcess(Tool.path, arguments)
            try await wait(for: "all rows") { try await lines(Self.unsent, url).isEmpty }
            last.signal(SIGTERM)
            let end = try await last.finish()
            #expect(end.code == 0 && end.diagnostics.contains("objects are done"), "\(end.diagnostics)")
            #expect(try await sentCount(url) == count)
            try await server.kill()
        }
    }

    @Test func wrongCallsSayWhatWouldBeRight() async throws {
        try await withServer { server in
            let url = server.url()
            try await prepare(url, count: 1)
            for (arguments, message) in [
                (["--name=mail"], "COMMAND is missing after --"), (["--", "true"], "--name is missing"),
                (["--name=mail", "--batch=0", "--", "true"], "--batch is a whole number above 0"),
                (["--name=mail", "--changes", "--workers=2", "--", "true"], "--changes come one after the other"),
                (["--name=a/b", "--once", "--", "true"], "cannot be the name of a queue"),
            ] {
                let exit = try await Tool.run(["run", url, Self.unsent] + arguments)
                #expect(exit.code != 0 && exit.diagnostics.contains(message), "\(arguments): \(exit.diagnostics)")
            }
            // No row is to blame for a program that is not there.
            for program in ["no-such-program", "/no/such/program", "/tmp", "/dev/null"] {
                let exit = try await Tool.run(
                    "run", url, Self.unsent, "--name=mail", "--once", "--attempts=1", "--", program)
                #expect(
                    exit.code == 1 && exit.diagnostics.contains("cannot start \(program)"), "\(exit.diagnostics)")
                #expect(try await Tool.run("queues", url, "--dead=mail", "--format=jsonl").lines.isEmpty)
            }
            // One that prints nonsense fails the row with the reason.
            _ = try await Tool.run("run", url, Self.unsent, "--name=cat", "--once", "--attempts=1", "--", "cat")
            let dead = try await Tool.run("queues", url, "--dead=cat", "--format=jsonl").lines
            #expect(dead.first?.contains("unknown member") == true, "\(dead)")
        }
    }

    @Test func anExportPrintsWhatHasChangedSinceTheLast() async throws {
        try await withFolder { folder in
            try await withServer { server in
                let url = server.url()
                try await prepare(url, count: 30)
                let place = folder + "/place"
                func export(_ options: String...) async throws -> [String] {
                    let exit = try await Tool.run(["export", url, "Mail", "--since=\(place)"] + options)
                    try #require(exit.code == 0, "\(exit.diagnostics)")
                    return exit.lines
                }
                #expect(try await export().count == 31)
                #expect(try await export().isEmpty)
                // Where nothing is there yet, the file says so.
                let fresh = folder + "/fresh"
                try await write([#"{"op":"delete","class":"Copy","key":0}"#], to: url)
                let empty = try await Tool.run("export", url, "Copy", "--since=\(fresh)")
                #expect(empty.code == 0 && empty.lines.isEmpty, "\(empty.diagnostics)")
                #expect(FileManager.default.fileExists(atPath: fresh))
                try await write(mails([3], isSent: true) + [#"{"op":"delete","class":"Mail","key":4}"#], to: url)
                let changed = try await export()
                #expect(changed.count == 2, "\(changed)")
                #expect(changed.contains { $0.contains(#""id":3,"isSent":true"#) })
                #expect(changed.contains { $0.contains(#""@removed":"deleted","key":4"#) })
                #expect(try await export().isEmpty)
                #expect(try await Tool.run("export", url, "Mail", "--format=jsonl").lines.count == 30)
                try "else".write(toFile: place, atomically: true, encoding: .utf8)
                let wrong = try await Tool.run("export", url, "Mail", "--since=\(place)")
                #expect(wrong.code == 1 && wrong.diagnostics.contains("was not made by"), "\(wrong.diagnostics)")
                let other = folder + "/other"
                #expect(try await Tool.run("export", url, "Copy", "--since=\(other)").code == 0)
                let foreign = try await Tool.run("export", url, "Mail", "--since=\(other)")
                #expect(foreign.code == 1 && foreign.lines.isEmpty, "\(foreign.lines)")
                #expect(foreign.diagnostics.contains("is of the export of Copy"), "\(foreign.diagnostics)")
                let nowhere = try await Tool.run("export", url, "Mail", "--since=/nonexistent/x")
                #expect(nowhere.code == 1 && nowhere.lines.isEmpty, "\(nowhere.diagnostics)")
                let csv = try await Tool.run("export", url, "Mail", "--since=\(place)", "--format=csv")
                #expect(csv.code == 64, "\(csv.diagnostics)")
            }
        }
    }
}
