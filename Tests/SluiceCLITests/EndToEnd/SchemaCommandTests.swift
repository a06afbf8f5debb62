import TestSupport
import Testing

@testable import SluiceCLI

struct SchemaCommandTests {
    @Test func anImportThatFailsAtItsFirstRowsLeavesNothingBehind() async throws {
        try await withServer { server in
            let file = try TemporaryFile("id,price\n1,2.5\n2,3\n")
            let failed = try await Tool.run(
                "import", server.url(), "Car", file.path, "--key=id", "--type=price:date")
            #expect(failed.code == 1)
            #expect(try await Tool.run("schema", server.url()).lines == [#"{"classes":[],"properties":[]}"#])
            let again = try await Tool.run("import", server.url(), "Car", file.path, "--key=id")
            #expect(again.code == 0, "\(again.diagnostics)")
            #expect(
                try await Tool.run("schema", server.url(), "--format=jsonl").lines == [
                    #"{"classes":[{"name":"Car","key":"id","count":2}],"properties":["#
                        + #"{"class":"Car","name":"id","type":"int","optional":false,"index":"key"},"#
                        + #"{"class":"Car","name":"price","type":"double","optional":false,"index":""}]}"#
                ])
        }
    }

    @Test func whatWasImportedByMistakeIsRemovedAndImportedAnew() async throws {
        try await withServer { server in
            let first = try TemporaryFile("id,price\n1,NA\n")
            let second = try TemporaryFile("id,price\n1,2.5\n")
            let wrong = try await Tool.run(
                "import", server.url(), "Car", first.path, "--key=id", "--type=price:date?")
            #expect(wrong.code == 0, "\(wrong.diagnostics)")
            #expect(try await Tool.run("import", server.url(), "Car", second.path).code == 1)
            let refused = try await Tool.run("schema", server.url(), "--remove=Car")
            #expect(refused.code == 1)
            #expect(refused.diagnostics.contains("Car has 1 object; delete them before you remove the class"))
            #expect(try await Tool.run("schema", server.url(), "--remove=Car.price").code == 0)
            let anew = try await Tool.run("import", server.url(), "Car", second.path)
            #expect(anew.code == 0, "\(anew.diagnostics)")
            let lines = try await Tool.run("query", server.url(), "Car").lines
            #expect(lines.count == 1 && lines[0].hasSuffix(#""id":1,"price":2.5}"#), "\(lines)")
            #expect(try await Tool.run("schema", server.url(), "--remove=Car.a.b").code == 64)
        }
    }
}
