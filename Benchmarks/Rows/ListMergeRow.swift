import Sluice

/// M1: two clients edit one long list without a network, one transaction each edit. The time runs from connecting until
/// both have uploaded everything and show the same list.
struct ListMergeRow {
    private let workbench: Workbench
    private let count: Int

    init(_ workbench: Workbench) {
        self.workbench = workbench
        count = workbench.options.size(10_000, quick: 200)
    }

    private struct Run {
        var merge = 0.0
        /// One local edit, in microseconds.
        var edit = 0.0
    }

    func measure() async throws -> [Measurement] {
        let runs = try await workbench.repeated { _ in (ours: try await run(count), floor: try await run(count / 4)) }
        let title = "\(Double(count).shown) offline edits by two of a list of \(Double(count).shown)"
        return [
            Measurement(
                .listMerge, "\(title), until both have the same", ours: runs.map(\.ours.merge),
                floor: runs.map(\.floor.merge), unit: "s", goal: .atMost(1)),
            Measurement(
                .listMerge, "\(title), each edit", ours: runs.map(\.ours.edit), floor: runs.map(\.floor.edit),
                unit: "µs", goal: .ratioAtMost(4)),
        ]
    }

    private func run(_ count: Int) async throws -> Run {
        try await workbench.withServer { url in
            let stores = [
                try await workbench.openStore("a", models: [Sheet.self], url: url),
                try await workbench.openStore("b", models: [Sheet.self], url: url),
            ]
            var tokens: [NotificationToken] = []
            try await stores[0].write { try $0.insert(Sheet.of(count)) }
            try await stores[0].uploaded(timeout: .seconds(30))
            for store in stores {
                tokens.append(try store.objects(Sheet.self).observe { _ in })
                _ = try await store.objects(Sheet.self).synced(timeout: .seconds(30))
                try store.session?.pause()
            }
            var run = Run()
            let seconds = try await workbench.seconds {
                for (number, store) in stores.enumerated() { try await edit(store, count / 2, seed: number + 1) }
            }
            run.edit = seconds / Double(count) * 1e6
            let lengths = try stores.map { try lines(of: $0).count }
            run.merge = try await workbench.seconds {
                for store in stores { try store.session?.resume() }
                for store in stores { try await store.uploaded(timeout: .seconds(600)) }
                // What one uploads last comes to the other a moment after it is confirmed.
                while try lines(of: stores[0]) != lines(of: stores[1]) { try await Task.sleep(for: .milliseconds(1)) }
            }
            let merged = try lines(of: stores[0])
            // Nothing is erased, so what both have inserted is there.
            try check(merged.count, is: lengths[0] + lengths[1] - count, "the elements of the merged list")
            for token in tokens { token.stop() }
            for store in stores { await store.close() }
            return run
        }
    }

    /// Inserts, moves and sets elements anywhere.
    private func edit(_ store: Store, _ count: Int, seed: Int) async throws {
        let sheet = Sheet(id: "s")
        var length = try lines(of: store).count
        for number in 0..<count {
            let random = Mixer.mix(seed << 32 + number)
            let (first, second) = (Int((random >> 8) % UInt64(length)), Int((random >> 32) % UInt64(length)))
            try await store.write { transaction in
                switch random % 4 {
                case 0: try transaction.move(sheet, \.lines, from: first, to: second)
                case 1: try transaction.append(sheet, \.lines, "appended by \(seed), \(number)")
                default: try transaction.insert(sheet, \.lines, "inserted by \(seed), \(number)", at: first)
                }
            }
            if random % 4 != 0 { length += 1 }
        }
    }

    private func lines(of store: Store) throws -> [String] {
        try store.objects(Sheet.self).fetch().first?.lines ?? []
    }
}
