import Foundation
import Sluice

/// P2: a job that reads a class page by page, each with a query of its own that it then leaves: the last pages beside the
/// first, in time, and what memory it takes meanwhile.
struct PagingRow {
    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    /// What the job does with a page that it has read.
    private enum Leaving: String, CaseIterable {
        case keeping = "kept"
        case purging = "purged with its token"
        case sweeping = "purged as unsubscribed"
    }

    private struct Cost {
        /// Milliseconds for one of the first pages, and of the last.
        var first = 0.0
        var last = 0.0
        /// How much memory the job took more at its end than after a quarter.
        var megabytes = 0.0
    }

    func measure() async throws -> [Measurement] {
        let pageCount = workbench.options.size(320, quick: 12)
        let size = workbench.options.size(500, quick: 20)
        return try await workbench.withServer { url in
            let source = try await workbench.openStore("source", models: [Reading.self], url: url)
            try await source.insert(Reading.numbered(0..<pageCount * size))
            await source.close()
            // Pages that the server has read before do not count for whoever comes first.
            _ = try await page(url, pageCount, size, .purging)
            var lines: [Measurement] = []
            for leaving in Leaving.allCases {
                let costs = try await workbench.repeated { _ in try await page(url, pageCount, size, leaving) }
                let name = "\(pageCount) pages of \(size) rows, each \(leaving.rawValue)"
                lines += [
                    Measurement(
                        .paging, "\(name): a last page beside a first", ours: costs.map(\.last),
                        floor: costs.map(\.first), unit: "ms", goal: .ratioAtMost(1.25)),
                    Measurement(
                        .paging, "\(name): memory that the last three quarters took",
                        ours: costs.map(\.megabytes).median, unit: "MB", goal: .atMost(16)),
                ]
            }
            return lines
        }
    }

    private func page(_ url: String, _ count: Int, _ size: Int, _ leaving: Leaving) async throws -> Cost {
        let store = try await workbench.openStore("job", models: [Reading.self], url: url)
        try await store.connected(timeout: .seconds(30))
        var times: [Double] = []
        var after = -1
        var megabytes = 0.0
        for number in 0..<count {
            if number == count / 4 { megabytes = ProcessPeak.megabytes(.now) }
            let last = after
            let page = store.objects(Reading.self).where { $0.id > last }.sorted(by: \.id).limit(size)
            times.append(
                try await workbench.seconds {
                    let token = try page.observe { _ in }
                    let rows = try await page.synced(timeout: .seconds(60))
                    try check(rows.count, is: size, "the rows of a page")
                    after = rows.last?.id ?? after
                    token.stop(purgeLocal: leaving == .purging)
                    if leaving == .sweeping { try await store.purgeUnsubscribed() }
                } * 1_000)
        }
        let part = max(count / 16, 3)
        let cost = Cost(
            first: Array(times.dropFirst().prefix(part)).median, last: Array(times.suffix(part)).median,
            megabytes: ProcessPeak.megabytes(.now) - megabytes)
        let kept = try store.objects(Reading.self).count()
        try check(kept, is: leaving == .keeping ? count * size : 0, "the rows that are left")
        await store.close()
        return cost
    }
}
