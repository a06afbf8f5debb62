import Foundation
import Glibc
import TestSupport
import Testing

/// `sluice run` and its neighbours where something is wrong: programs that do not end as they should, rows that are left,
/// and classes that the user may not read.
@Suite(.timeLimit(.minutes(10))) struct RunTroubleTests {
    private static let unsent = "Mail WHERE isSent == false SORT(id ASC)"
    /// Marks each mail as sent.
    private static let sending = #"""
        awk -F'"id":' '{ split($2, part, /[,}]/)
          print "{\"op\":\"upsert\",\"class\":\"Mail\",\"key\":" part[1] ",\"set\":{\"isSent\":true}}" }'
        """#

    /// The same, for rows as for changes, as far as the mails are there.
    private static let updating = #"""
        awk -F'"id":' '/"isSent"/ { split($2, part, /[,}]/)
          print "{\"op\":\"update\",\"class\":\"Mail\",\"key\":" part[1] ",\"set\":{\"isSent\":true}}" }'
        """#

    private func prepare(_ url: String, count: Int, in folder: String) async throws {
        let file = folder + "/Mail.csv"
        let lines = ["id,isSent"] + (1...count).map { "\($0),false" }
        try (lines.joined(separator: "\n") + "\n").write(toFile: file, atomically: true, encoding: .utf8)
        let exit = try await Tool.run("import", url, "Mail", file, "--key=id")
        try #require(exit.code == 0, "\(exit.diagnostics)")
    }

    private func withMails(_ count: Int, _ body: (_ url: String, _ folder: String) async throws -> Void) async throws {
        try await withFolder { folder in
            try await withServer { server in
                try await prepare(server.url(), count: count, in: folder)
                try await body(server.url(), folder)
            }
        }
    }

    private func run(_ url: String, _ options: [String], _ script: String) async throws -> ChildProcess.Exit {
        try await Tool.run(
            ["run", url, Self.unsent, "--name=mail", "--once"] + options + ["--", "sh", "-c", script])
    }

    @Test(arguments: [[], ["--changes"]])
    func `a program that leaves its output to a child process has failed`(options: [String]) async throws {
        try await withMails(2) { url, _ in
            let exit = try await run(url, options + ["--attempts=1"], Self.sending + "\nsleep 600 &")
            #expect(exit.code == 2, "\(exit.diagnostics)")
            let why = "a child process that it left behind still held its standard output 5 s later"
            #expect(exit.diagnostics.contains(why), "\(exit.diagnostics)")
            // Nothing of what was printed is written.
            let left = try await Tool.run("query", url, Self.unsent, "--format=jsonl")
            #expect(left.lines.count == 2, "\(left.lines)")
        }
    }

    @Test(arguments: [[], ["--changes"]])
    func `a row that is deleted while the program works at it fails no other`(options: [String]) async throws {
        try await withMails(3) { url, _ in
            let deletion = #"echo '{"op":"delete","class":"Mail","key":2}' | "# + "'\(Tool.path)' write \(url)"
            // Only the first time that it runs there is something to be deleted.
            let exit = try await run(
                url, options + ["--attempts=1"], "\(deletion) 2> /dev/null\n\(Self.updating)")
            #expect(exit.code == 0, "\(exit.diagnostics)")
            #expect(exit.diagnostics.contains("lines for 1 object are left out"), "\(exit.diagnostics)")
            #expect(exit.diagnostics.contains("meanwhile: Mail 2"), "\(exit.diagnostics)")
            let left = try await Tool.run("query", url, "Mail SORT(id ASC)", "--format=jsonl")
            #expect(left.lines.count == 2 && left.lines.allSatisfy { $0.contains(#""isSent":true"#) }, "\(left.lines)")
        }
    }

    @Test func `a line that changes what is not there is named with its object`() async throws {
        try await withMails(1) { url, _ in
            let line = #"{"op":"update","class":"Mail","key":99,"set":{"isSent":true}}"#
            let exit = try await run(url, ["--attempts=1"], "echo; echo '\(line)'")
            #expect(exit.code == 2, "\(exit.diagnostics)")
            let why = "line 2 of the program's output: Mail has no object with the key '99' to be changed"
            #expect(exit.diagnostics.contains(why), "\(exit.diagnostics)")
            let dead = try await Tool.run("queues", url, "--dead=mail", "--format=jsonl").lines
            #expect(dead.count == 1 && dead[0].contains(why), "\(dead)")
        }
    }

    @Test func `rows that are put off are waiting, and a run that leaves them says so`() async throws {
        try await withMails(3) { url, _ in
            let putOff = try await run(url, ["--batch=2"], "exit 75")
            #expect(putOff.code == 75, "\(putOff.diagnostics)")
            #expect(putOff.diagnostics.contains("3 rows that failed or were put off are left"))
            let queues = try await Tool.run("queues", url, "--format=jsonl").lines
            #expect(queues.count == 1 && queues[0].contains(#""waiting":3,"retries":3,"next":"20"#), "\(queues)")
            #expect(queues[0].contains(#""claims":0,"dead":0"#), "\(queues)")
            let table = try await Tool.run("queues", url, "--format=table").lines
            #expect(table.first?.contains("waiting") == true && table.first?.contains("next") == true, "\(table)")
            // They are done once they are due.
            try await wait(for: "all rows") { try await run(url, [], Self.sending).code == 0 }
            #expect(try await Tool.run("query", url, Self.unsent, "--format=jsonl").lines.isEmpty)
        }
    }

    @Test func `a run that finds rows which a dead one holds does not say that all is done`() async throws {
        try await withMails(1) { url, folder in
            let dead = try ChildProcess(
                Tool.path,
                [
                    "run", url, Self.unsent, "--name=mail", "--lease=1h", "--", "sh", "-c",
                    "echo > \(folder)/begun; sleep 600",
                ])
            try await wait(for: "its program") { FileManager.default.fileExists(atPath: folder + "/begun") }
            dead.signal(SIGKILL)
            _ = try await dead.finish()
            let next = try await run(url, [], Self.sending)
            #expect(next.code == 75, "\(next.diagnostics)")
            #expect(next.diagnostics.contains("1 row is held by another run, which is at work or has died"))
        }
    }

    @Test func `a single object that fails is named with its batch as the program knows it`() async throws {
        try await withMails(1) { url, folder in
            let exit = try await run(url, ["--attempts=2"], "echo $SLUICE_BATCH > \(folder)/batch; exit 3")
            #expect(exit.code == 2, "\(exit.diagnostics)")
            let batch = try String(contentsOfFile: folder + "/batch", encoding: .utf8).dropLast()
            #expect(
                exit.diagnostics.contains("Mail 1, batch \(batch): the program ended with exit code 3"),
                "\(exit.diagnostics)")
            // It is tried again, so there is nothing to be listed.
            #expect(!exit.diagnostics.contains("sluice queues"), "\(exit.diagnostics)")
        }
    }

    @Test func `a first connection is tried for as long as the command was told`() async throws {
        try await withFolder { folder in
            let (port, file) = (try UnusedPort.next(), folder + "/Mail.csv")
            try "id,isSent\n1,false\n".write(toFile: file, atomically: true, encoding: .utf8)
            let command = try ChildProcess(
                Tool.path,
                ["import", "ws://127.0.0.1:\(port)/late", "Mail", file, "--key=id", "--timeout=10h"])
            // Without --timeout it would end here.
            _ = try await command.line(.diagnostics, with: "no connection yet")
            let server = try await ServerProcess.start(folder: folder + "/data", port: port)
            let exit = try await command.finish()
            #expect(exit.code == 0, "\(exit.diagnostics)")
            try await server.kill()
        }
    }

    @Test func `a place of an export behind a symbolic link is replaced where it is, or made there`() async throws {
        try await withMails(3) { url, folder in
            try FileManager.default.createDirectory(atPath: folder + "/kept", withIntermediateDirectories: true)
            let link = folder + "/link"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "kept/place")
            for count in [3, 0] {
                let exit = try await Tool.run("export", url, "Mail", "--since=\(link)")
                #expect(exit.code == 0 && exit.lines.count == count, "\(exit.diagnostics)")
                #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "kept/place")
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/kept") == ["place"])
            }
        }
    }

    @Test func `a program that prints more than a transaction takes is told how much that is`() async throws {
        try await withMails(2) { url, _ in
            let line = #"{"op":"upsert","class":"Mail","key":1,"set":{"isSent":true}}"#
            let exit = try await run(url, ["--batch=2", "--attempts=1"], "exec yes '\(line)'")
            #expect(exit.code == 2, "\(exit.diagnostics)")
            #expect(exit.diagnostics.contains("one transaction has at most 100,000 operations"), "\(exit.diagnostics)")
            #expect(exit.diagnostics.contains("use a smaller --batch"), "\(exit.diagnostics)")
        }
    }

    @Test func `a command that finds nothing because of the rules says so`() async throws {
        try await withMails(2) { url, folder in
            let rules = folder + "/rules.json"
            let text = #"{"database": {"jobs": true, "rules": true}, "classes": {"Mail": {"create": true}}}"#
            try text.write(toFile: rules, atomically: true, encoding: .utf8)
            let warning = "the rules let this user read no object of Mail"
            func check(_ isWarned: Bool, _ arguments: [String]) async throws {
                let exit = try await Tool.run(arguments)
                #expect(exit.code == 0, "\(arguments): \(exit.diagnostics)")
                #expect(exit.diagnostics.contains(warning) == isWarned, "\(arguments): \(exit.diagnostics)")
                #expect(exit.lines.isEmpty == isWarned, "\(arguments): \(exit.lines)")
            }
            let calls = [
                ["query", url, "Mail", "--format=jsonl"], ["export", url, "Mail"],
                ["export", url, "Mail", "--since=\(folder)/place"],
            ]
            for arguments in calls { try await check(false, arguments) }
            try FileManager.default.removeItem(atPath: folder + "/place")
            let watching = try ChildProcess(Tool.path, ["query", url, "Mail", "--watch", "--format=jsonl"])
            _ = try await watching.line(with: "\"count\":2")
            let deployed = try await Tool.run("rules", "deploy", url, rules)
            #expect(deployed.code == 0, "\(deployed.diagnostics)")
            // Who watches is told when the right has gone.
            _ = try await watching.line(with: "\"removed\":[{", "\"count\":0")
            try await wait(for: "the warning") { watching.diagnostics.contains(warning) }
            watching.signal(SIGKILL)
            _ = try await watching.finish()
            for arguments in calls { try await check(true, arguments) }
            for options in [[], ["--changes"]] {
                let exit = try await run(url, options, "exit 1")
                #expect(exit.code == 0 && exit.diagnostics.contains(warning), "\(options): \(exit.diagnostics)")
            }
        }
    }
}
