import Sluice
import SluiceModel
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
            let schema = try await Tool.run("schema", server.url())
            #expect(schema.code == 1 && schema.diagnostics.contains("the server has no database 'test'"), "\(schema)")
            let again = try await Tool.run("import", server.url(), "Car", file.path, "--key=id")
            #expect(again.code == 0, "\(again.diagnostics)")
            #expect(
                try await Tool.run("schema", server.url(), "--format=jsonl").lines == [
                    #"{"classes":[{"name":"Car","key":"id","count":2}],"properties":["#
                        + #"{"class":"Car","name":"id","type":"int","optional":false,"was":"","index":"key"},"#
                        + #"{"class":"Car","name":"price","type":"double","optional":false,"was":"","index":""}]}"#
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

    @Test func everyCommandKnowsARenamedPropertyByEachOfItsNames() async throws {
        try await withServer { server in
            let file = try TemporaryFile("id,cost\n1,2\n2,5\n")
            #expect(try await Tool.run("import", server.url(), "Car", file.path, "--key=id").code == 0)
            let key = Property("id", .scalar(.int))
            let renamed = try Schema([
                ClassSchema(
                    "Car", primaryKey: "id", properties: [key, Property("price", .scalar(.double), was: ["cost"])])
            ])
            let store = try await Store.open(
                StoreConfiguration(schema: renamed, sync: SyncConfiguration(url: server.url())))
            try await store.connected()
            await store.close()
            for query in ["Car WHERE cost > 3 SORT(price ASC)", "Car WHERE price > 3 SORT(cost ASC)"] {
                let lines = try await Tool.run("query", server.url(), query).lines
                #expect(lines.count == 1 && lines[0].contains(#""price":5"#), "\(lines)")
                let explained = try await Tool.run("explain", server.url(), query).lines.joined()
                #expect(explained.contains("Car WHERE price > 3") && !explained.contains("cost"), "\(explained)")
            }
            let schema = try await Tool.run("schema", server.url(), "--format=jsonl").lines.joined()
            #expect(schema.contains(#""name":"price","type":"double","optional":false,"was":"cost""#), "\(schema)")
            let more = try TemporaryFile("id,cost\n3,0.5\n")
            let imported = try await Tool.run("import", server.url(), "Car", more.path, "--key=id")
            #expect(imported.code == 0, "\(imported.diagnostics)")
            #expect(try await Tool.run("query", server.url(), "Car WHERE price == 0.5").lines.count == 1)
            let both = try TemporaryFile("id,cost,price\n4,0.5,1\n")
            let refused = try await Tool.run("import", server.url(), "Car", both.path)
            #expect(refused.code == 1)
            #expect(refused.diagnostics.contains("the columns 'cost' and 'price' both make the property 'price'"))
        }
    }
}
