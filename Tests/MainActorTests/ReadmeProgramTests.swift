import Foundation
import Sluice
import Testing

// README: begin
@Model struct Car {
    @PrimaryKey var vin: String
    var name = "Toyota"
    var price = 0.0
    var owners: Links<Owner> = []
}

@Model struct Owner {
    @PrimaryKey var id: String
    var name = ""
}
// README: end

/// The README's first program. It is compiled but not run, since it needs a server.
func firstProgram() async throws {
    // README: begin
    let store = try await Store.open(
        StoreConfiguration(
            path: "cars.sluice", models: [Car.self, Owner.self],
            sync: SyncConfiguration(url: "ws://127.0.0.1:9080/cars")))

    let bargains = store.objects(Car.self)
        .where { $0.name == "Toyota" && $0.price < 10_000 }  // or .filter("name == 'Toyota' AND price < $0", 10_000)
        .sorted(by: \.price)
        .limit(20)
        .excluding(\.owners)

    let token = try bargains.observe { change in  // the server starts syncing the query
        print(change.results.count, change.origin, change.state)
    }

    try await store.write { transaction in  // stored here at once, uploaded when the server is reached
        try transaction.insert(Car(vin: "JT2AE92E9J3137546", price: 9_000))
    }

    let complete = try await bargains.synced(timeout: .seconds(30))  // for batch jobs: complete rows or an error
    token.stop()  // stops syncing and purges the local copy
    // README: end
    _ = complete
}

@Suite struct ReadmeProgramTests {
    private let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")

    @Test func theReadmesFirstProgramIsTheOneThatIsCompiled() throws {
        let readme = try String(contentsOfFile: "\(root)/README.md", encoding: .utf8)
        let block = try #require(readme.components(separatedBy: "```swift\n").dropFirst().first)
        let shown = try #require(block.components(separatedBy: "```").first).replacing("import Sluice\n", with: "")
        let parts = try String(contentsOfFile: #filePath, encoding: .utf8).components(separatedBy: "// README: ")
        let compiled = parts.filter { $0.hasPrefix("begin\n") }.map { $0.dropFirst("begin\n".count) }.joined()
        try #require(!compiled.isEmpty)
        #expect(shown.filter { !$0.isWhitespace } == compiled.filter { !$0.isWhitespace })
    }
}
