import TestSupport
import Testing

@testable import SluiceCLI

/// Numbers and keys from files, lines and arguments, on a server.
@Suite(.serialized)
struct NumberAndKeyTests {
    private func lines(_ server: ServerProcess, _ query: String, _ options: String...) async throws -> [String] {
        let result = try await ChildProcess(Tool.path, ["query", server.url(), query, "--format=jsonl"] + options)
            .finish()
        #expect(result.code == 0, "\(result.diagnostics)")
        return result.lines.map { $0.replacing(#/"@id":"[0-9a-f]{32}",?/#, with: "") }
    }

    private func write(_ server: ServerProcess, _ line: String) async throws -> TestSupport.ChildProcess.Exit {
        try await ChildProcess(Tool.path, ["write", server.url()], input: line + "\n").finish()
    }

    @Test func minusZeroIsZeroInEveryKindOfFile() async throws {
        try await withServer { server in
            for (name, text) in [
                ("C", "id,n\n1,0\n2,-0\n"), ("J", "{\"id\":1,\"n\":0}\n{\"id\":2,\"n\":-0}\n"),
            ] {
                let file = try TemporaryFile(text, suffix: name == "C" ? ".csv" : ".jsonl")
                let result = try await Tool.run(
                    "import", server.url(), name, file.path, "--key=id", "--type=n:int")
                #expect(result.code == 0, "\(result.diagnostics)")
                #expect(try await lines(server, "\(name) SORT(id ASC)") == [#"{"id":1,"n":0}"#, #"{"id":2,"n":0}"#])
                let written = try await write(server, #"{"op":"update","class":"\#(name)","key":-0,"set":{"n":-0}}"#)
                #expect(written.code == 1, "there is no object with the key 0: \(written.diagnostics)")
                #expect(try await lines(server, "\(name) WHERE n == $0", "--arg=-0").count == 2)
            }
        }
    }

    @Test func aWholeNumberThatADoubleWouldRoundIsKeptAsADecimalOrRefusedWithItsRow() async throws {
        try await withServer { server in
            let file = try TemporaryFile("id,v\na,9007199254740993\nb,0.5\n")
            let kept = try await Tool.run("import", server.url(), "K", file.path, "--key=id")
            #expect(kept.code == 0 && kept.diagnostics.contains("becomes decimal"), "\(kept.diagnostics)")
            #expect(
                try await lines(server, "K SORT(id ASC)") == [
                    #"{"id":"a","v":"9007199254740993"}"#, #"{"id":"b","v":"0.5"}"#,
                ])
            #expect(try await lines(server, "K WHERE v == $0", "--arg=9007199254740993").count == 1)
            let refused = try await Tool.run("import", server.url(), "R", file.path, "--key=id", "--type=v:double")
            #expect(refused.code == 1 && refused.diagnostics.contains(".csv:2: column 'v'"), "\(refused.diagnostics)")
            let written = try await write(
                server, #"{"op":"upsert","class":"K","key":"c","set":{"v":123456789012345678901234567890.5}}"#)
            #expect(written.code == 0, "\(written.diagnostics)")
            #expect(try await lines(server, "K WHERE id == 'c'").first?.contains("567890.5") == true)
        }
    }

    @Test func anUpdateMayNameTheKeyThatTheObjectHas() async throws {
        try await withServer { server in
            let file = try TemporaryFile("id,n\na,1\n")
            #expect(try await Tool.run("import", server.url(), "Thing", file.path, "--key=id").code == 0)
            for set in [#"{"id":"a","n":2}"#, #"{"id":"a"}"#] {
                let line = #"{"op":"update","class":"Thing","key":"a","set":\#(set)}"#
                let result = try await write(server, line)
                #expect(result.code == 0, "\(line): \(result.diagnostics)")
            }
            #expect(try await lines(server, "Thing") == [#"{"id":"a","n":2}"#])
            let id = try #require(
                try await Tool.run("query", server.url(), "Thing", "--format=jsonl").lines.first?
                    .firstMatch(of: #/"@id":"([0-9a-f]{32})"/#)?.1)
            for (name, code, words) in [("a", 0, ""), ("b", 1, "cannot change")] {
                let result = try await write(
                    server, #"{"op":"update","class":"Thing","@id":"\#(id)","set":{"id":"\#(name)"}}"#)
                #expect(result.code == code && result.diagnostics.contains(words), "\(result.diagnostics)")
            }
            let other = try await write(server, #"{"op":"update","class":"Thing","key":"a","set":{"id":"b"}}"#)
            #expect(
                other.code == 1
                    && other.diagnostics.contains(
                        "stdin:1: the primary key 'id' of a Thing cannot change, and \"set\" has another than \"key\""),
                "\(other.diagnostics)")
            let missing = try await write(server, #"{"op":"update","class":"Thing","key":"c","set":{"id":"c"}}"#)
            #expect(missing.code == 1, "an update of what is not there: \(missing.diagnostics)")
        }
    }

    @Test func aKeyThatIsTooLongIsNamedWithItsLength() async throws {
        try await withServer { server in
            let file = try TemporaryFile("id,n\na,1\n")
            #expect(try await Tool.run("import", server.url(), "Thing", file.path, "--key=id").code == 0)
            let key = String(repeating: "k", count: 1 << 20)
            for operation in ["insert", "upsert", "update", "delete"] {
                let set = operation == "delete" ? "" : #","set":{"n":1}"#
                let result = try await write(server, #"{"op":"\#(operation)","class":"Thing","key":"\#(key)"\#(set)}"#)
                #expect(
                    result.diagnostics.contains(
                        "stdin:1: the primary key 'id' of Thing: 1048576 bytes of a string that is a key; at most 1024"),
                    "\(operation): \(result.diagnostics.prefix(300))")
            }
        }
    }

    @Test func theEmptyTextIsAnArgument() async throws {
        try await withServer { server in
            let file = try TemporaryFile("{\"id\":1,\"t\":\"\"}\n{\"id\":2,\"t\":\"x\"}\n", suffix: ".jsonl")
            #expect(try await Tool.run("import", server.url(), "Text", file.path, "--key=id").code == 0)
            for option in [["--arg="], ["--arg", ""]] {
                let result = try await ChildProcess(
                    Tool.path, ["query", server.url(), "Text WHERE t == $0", "--format=jsonl"] + option
                ).finish()
                #expect(result.code == 0 && result.lines.count == 1, "\(result.diagnostics)")
            }
            let wrong = try await Tool.run("query", server.url(), "Text WHERE id == $0", "--arg=")
            #expect(wrong.code == 64 && wrong.diagnostics.contains("the argument is not int (Text.id)"))
        }
    }
}
