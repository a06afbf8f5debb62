import Foundation
import Sluice
import TestSupport
import Testing

/// Writers on the command line who edit the collections of one object.
struct ElementWriteTests {
    private static func prepare(_ server: ServerProcess) async throws {
        let text = PropertyType(.scalar(.string), container: .list)
        let recipe = try ClassSchema(
            "Recipe", primaryKey: "name",
            properties: [
                Property("name", .scalar(.string)), Property("steps", text),
                Property("tags", PropertyType(.scalar(.string), container: .set)),
                Property("rooms", PropertyType(.scalar(.int), container: .map)), Property("like", .links("Recipe")),
            ])
        let store = try await Store.open(
            StoreConfiguration(schema: Schema([recipe]), sync: SyncConfiguration(url: server.url())))
        let bread = try Record(
            recipe,
            [
                "name": .string("bread"), "steps": .list([.string("mix"), .string("bake")]),
                "tags": .set([.string("vegan")]), "like": .list([.link(.string("bread"))]),
            ])
        try await store.write { try $0.insert(bread) }
        try await store.uploaded()
        await store.close()
    }

    private static func update(_ edits: String) -> String {
        #"{"op":"update","class":"Recipe","key":"bread","# + edits + "}\n"
    }

    private static func bread(_ server: ServerProcess) async throws -> String {
        try await Tool.run("query", server.url(), "Recipe").lines.joined()
            .replacingOccurrences(of: #""@id":"[0-9a-f]{32}",?"#, with: "", options: .regularExpression)
    }

    @Test func twoWritersWhoAreCutOffKeepTheLinesOfBoth() async throws {
        try await withFolder { folder in
            var writers: [ChildProcess] = []
            let port = try UnusedPort.next()
            try await withServer(folder: folder, port: port) { server in
                try await Self.prepare(server)
                for name in ["ada", "ben"] {
                    let writer = try ChildProcess(Tool.path, ["write", server.url()], input: nil)
                    writer.write(Self.update(#""insert":{"tags":["\#(name)"]}"#))
                    writers.append(writer)
                }
                try await wait(for: "both writers") {
                    let bread = try await Self.bread(server)
                    return bread.contains("ada") && bread.contains("ben")
                }
            }
            // There is no server while they write.
            for (name, writer) in zip(["ada", "ben"], writers) {
                writer.write(Self.update(#""insert":{"steps":["\#(name)"]}"#))
                writer.closeInput()
            }
            try await withServer(folder: folder, port: port) { server in
                for writer in writers {
                    let end = try await writer.finish()
                    #expect(end.code == 0, "\(end.diagnostics)")
                }
                let bread = try await Self.bread(server)
                #expect(
                    [#""steps":["mix","bake","ada","ben"]"#, #""steps":["mix","bake","ben","ada"]"#]
                        .contains { bread.contains($0) }, "\(bread)")
            }
        }
    }

    @Test func elementsAreRemovedMovedAndInserted() async throws {
        try await withServer { server in
            try await Self.prepare(server)
            let lines = [
                Self.update(#""insert":{"steps":["eat","mix"],"rooms":{"a":1,"b":2},"like":["cake"]}"#),
                Self.update(#""insert":{"steps":{"at":1,"elements":["x","y"]},"tags":["slow"]}"#),
                Self.update(
                    #""remove":{"steps":["mix","none"],"tags":["vegan"],"rooms":["a"]},"#
                        + #""move":{"steps":{"from":0,"to":1}}"#),
            ]
            let result = try await Tool.run("write", server.url(), input: lines.joined())
            #expect(result.code == 0, "\(result.diagnostics)")
            #expect(
                try await Self.bread(server)
                    == #"{"name":"bread","steps":["y","x","bake","eat","mix"],"tags":["slow"],"#
                    + #""rooms":{"b":2},"like":["bread","cake"]}"#
            )
            let wrong = try await Tool.run(
                "write", server.url(), input: Self.update(#""insert":{"steps":{"at":9,"elements":["x"]}}"#))
            #expect(wrong.code == 1)
            #expect(wrong.diagnostics.contains("Recipe.steps has no position 9 here"), "\(wrong.diagnostics)")
        }
    }
}
