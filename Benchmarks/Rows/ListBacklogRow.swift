import Sluice

/// M2: what is done to one list without a server, one transaction each element. The time runs from connecting until the
/// server has acknowledged everything as durable.
struct ListBacklogRow {
    private let workbench: Workbench
    private let count: Int

    init(_ workbench: Workbench) {
        self.workbench = workbench
        count = workbench.options.size(100_000, quick: 400)
    }

    func measure() async throws -> [Measurement] {
        let runs = try await workbench.repeated { _ in (ours: try await run(count), floor: try await run(count / 4)) }
        return [
            Measurement(
                .listEdits, "upload of \(Double(count).shown) elements added to a list", ours: runs.map(\.ours),
                floor: runs.map(\.floor), unit: "s", goal: .atMost(1))
        ]
    }

    private func run(_ count: Int) async throws -> Double {
        try await workbench.withServer { url in
            let path = workbench.freshPath("writer")
            try await writeOffline(path, count)
            let seconds = try await workbench.seconds {
                let store = try await workbench.openStore("writer", models: [Sheet.self], path: path, url: url)
                try await store.uploaded(timeout: .seconds(600))
                await store.close()
            }
            let reader = try await workbench.openStore("reader", models: [Sheet.self], url: url)
            let sheets = try await reader.objects(Sheet.self).synced(timeout: .seconds(60))
            try check(sheets.map(\.lines), is: [(0..<count).map { "\($0)" }], "the list")
            await reader.close()
            return seconds
        }
    }

    /// Fills the outbox of a store whose server is a port at which nobody listens.
    private func writeOffline(_ path: String, _ count: Int) async throws {
        let store = try await workbench.openStore(
            "writer", models: [Sheet.self], path: path, url: "ws://127.0.0.1:1/bench")
        let sheet = Sheet(id: "s")
        try await store.write { try $0.insert(sheet) }
        for number in 0..<count { try await store.write { try $0.append(sheet, \.lines, "\(number)") } }
        await store.close()
    }
}
