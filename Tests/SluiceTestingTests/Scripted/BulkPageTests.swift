import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceTesting
import SluiceViews
import SluiceWire
import TestSupport
import Testing

/// Two clients that a server tells the same, where one stores the rows of pages together.
@Suite(.ownThread) struct BulkPageTests {
    private func block(_ rows: [Row], _ role: RowRole, _ properties: PropertySet) -> ViewBlock {
        var content = ViewBlock()
        for row in rows { content.objects.append(row, classIndex: 0, role: role, properties: properties) }
        return content
    }

    private func state(_ client: ScriptedSession) throws -> [String] {
        var lines: [String] = []
        try client.storage.forEachRow(ofClass: 0) { row in
            lines.append("\(row.key) \(row.version) \(row.values) \(row.absent)")
            return true
        }
        for record in client.storage.subscriptions {
            lines.append("\(record.id) \(record.state) \(record.version) \(record.hasHoles)")
            for role in MemberRole.allCases {
                var members: [ObjectKey] = []
                try client.storage.forEachMember(of: record.id, role: role) { object in
                    members.append(object.key)
                    return true
                }
                lines.append("\(role) \(members.sorted())")
            }
        }
        for object in try client.storage.objectsWithBaseImage.sorted() {
            lines.append("base \(object) \(String(describing: try client.storage.baseImage(of: object)))")
        }
        return lines.sorted()
    }

    @Test(arguments: 0..<80) func pagesStoredTogetherLeaveWhatRowsOneByOneLeave(seed: Int) throws {
        var states: [[String]] = []
        var events: [[String]] = []
        for bulkRowCountMin in [Int.max, 1] {
            var random = SeededGenerator(seed: UInt64(seed))
            let client = try ScriptedSession { $0.bulkRowCountMin = bulkRowCountMin }
            // What is here before the first session: written, and some of it deleted.
            for id in 0..<12 as Range<Int64> where random.chance(30) {
                try client.engine.write {
                    try $0.insert(Row(key: .int(id), values: [.int(id), .int(-id)]), ofClass: 0)
                    if random.chance(30) { try $0.delete(ObjectRef(0, .int(id))) }
                }
            }
            var seen: [String] = []
            func observe(_ text: String) throws {
                _ = try client.engine.observe(try client.query(text)) { event in
                    seen.append("\(text): \(event.list.visible.map { "\($0.object.key) \($0.row.values)" }.sorted())")
                }
            }
            if random.chance(70) { try observe("User") }
            _ = try client.engine.observe(try client.query("User SORT(age) LIMIT(5)")) { _ in }
            client.open()
            var acknowledged: UInt64 = 0
            func rows(_ version: UInt64) -> [Row] {
                (0..<Int.random(in: 1...9, using: &random)).map { _ in
                    let id = Int64.random(in: 0..<16, using: &random)
                    return ScriptedSession.user(
                        id, age: Int64.random(in: 0..<5, using: &random),
                        version: UInt64.random(in: 1...version, using: &random))
                }
            }
            for round in 0..<8 {
                let version = UInt64(3 + round)
                let subscriptions = random.pick([[1], [2], [1, 2]] as [[UInt64]])
                switch Int.random(in: 0..<5, using: &random) {
                case 0, 1:
                    let role = random.pick([RowRole.root, .linked])
                    let content = block(rows(3), role, random.chance(80) ? [0, 1] : [0])
                    client.receive([
                        .page(
                            .init(
                                session: 1, subscriptions: subscriptions, version: 3, progress: 0.5, content: content))
                    ])
                case 2:
                    let page = ServerMessage.page(
                        .init(
                            session: 1, subscriptions: subscriptions, version: 3, progress: 1,
                            content: block(rows(3), .root, [0, 1])))
                    client.receive([page] + subscriptions.map { client.complete($0, .bootstrap) })
                case 3:
                    if random.chance(50) { acknowledged = min(acknowledged + 1, client.storage.lastSequence) }
                    let header = CommitHeader(
                        session: 1, version: version, acceptedAt: ScriptedSession.now,
                        acknowledged: acknowledged > 0 ? acknowledged : nil, isContinued: false)
                    let content = block(rows(version), .root, [0, 1])
                    client.receive([
                        .commit(.init(header, blocks: [.init(subscriptions: subscriptions, content: content)]))
                    ])
                default:
                    let id = Int64.random(in: 0..<16, using: &random)
                    let isDeleting = random.chance(40)
                    try client.engine.write {
                        if isDeleting { return try $0.delete(ObjectRef(0, .int(id))) }
                        try $0.upsert(
                            Row(key: .int(id), values: [.int(id), .int(99)]), ofClass: 0, present: [0, 1])
                    }
                }
            }
            #expect(client.engine.lastProblem == nil)
            states.append(try state(client))
            events.append(seen)
        }
        #expect(states[0] == states[1])
        #expect(events[0] == events[1])
    }
}
