import Sluice
import SluiceModel
import SluiceStorage
import Testing

/// A transaction that is too large is refused where it is made, by the numbers by which a server refuses it.
@Suite struct TransactionLimitTests {
    private static let limits = HandDrivenSync.smallLimits

    /// What a transaction may be too large in, with the transaction of a size.
    enum Measure: String, CaseIterable, Sendable {
        case operations, bytes, elements

        /// The greatest size that is looked at.
        var sizeMax: Int {
            switch self {
            case .operations: 400
            case .bytes: 60_000
            case .elements: 9_000
            }
        }

        /// Two objects share bytes and elements, so that neither is too large alone.
        func operations(_ size: Int) -> [Row] {
            switch self {
            case .operations: (0..<size).map { row($0) }
            case .bytes: [row(0, text: size / 2), row(1, text: size - size / 2)]
            case .elements: (0..<4).map { row($0, flags: (size + $0) / 4) }
            }
        }

        private func row(_ number: Int, text: Int = 0, flags: Int = 0) -> Row {
            let key = ObjectKey.string("k\(number)")
            return Row(
                key: key,
                values: [
                    key.value, .string(String(repeating: "x", count: text)),
                    .list(Array(repeating: .bool(true), count: flags)),
                ])
        }
    }

    private static func schema() throws -> Schema {
        try Schema([
            ClassSchema(
                "Note", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.string)), Property("text", .scalar(.string)),
                    Property("flags", PropertyType(.scalar(.bool), container: .list)),
                ])
        ])
    }

    private static func write(_ rows: [Row], _ engine: ClientEngine) throws {
        try engine.write { writer in for row in rows { try writer.insert(row, ofClass: 0) } }
    }

    /// What a store says of a transaction of a size; nil if it accepts it.
    private func excess(ofStore measure: Measure, _ size: Int) throws -> LimitExcess? {
        let sync = try HandDrivenSync(clientCount: 1, Self.schema())
        sync.settle()
        do { try Self.write(measure.operations(size), sync.engine(0)) } catch let error as StoreError {
            #expect(error.code == .transactionTooLarge)
            #expect(try sync.storage(0).count(ofClass: 0) == 0 && sync.storage(0).outboxCount == 0)
            return try #require(error.cause as? LimitExcess)
        }
        return nil
    }

    /// What a server says of a transaction of a size that a store accepted which knows no such limit.
    private func rejection(ofServer measure: Measure, _ size: Int) throws -> String? {
        var lax = Self.limits
        lax.transactionByteCount = .max
        lax.transactionElementCount = .max
        lax.operationCount = .max
        let sync = try HandDrivenSync(clientCount: 1, Self.schema(), clientLimits: lax)
        try Self.write(measure.operations(size), sync.engine(0))
        sync.settle()
        #expect(sync.violations.isEmpty)
        #expect(sync.storage(0).outboxCount == 0)
        #expect(try sync.server.count(ofClass: 0) == (sync.rejections.isEmpty ? measure.operations(size).count : 0))
        let reason = sync.rejections.first?.rejection.reason
        #expect(reason.map { $0.code == .limitExceeded } ?? true)
        return reason?.message
    }

    @Test(arguments: Measure.allCases) func bothSidesDrawTheSameLine(_ measure: Measure) throws {
        // The greatest size that a store accepts, by halving.
        var (accepted, refused) = (1, measure.sizeMax)
        #expect(try excess(ofStore: measure, accepted) == nil && excess(ofStore: measure, refused) != nil)
        while refused - accepted > 1 {
            let middle = (accepted + refused) / 2
            if try excess(ofStore: measure, middle) == nil { accepted = middle } else { refused = middle }
        }
        let excess = try #require(try excess(ofStore: measure, refused))
        #expect(excess.actual == excess.limit + 1 && excess.limitName.hasPrefix(measure.rawValue))
        #expect(try rejection(ofServer: measure, accepted) == nil)
        #expect(try rejection(ofServer: measure, refused) == excess.description)
    }
}
