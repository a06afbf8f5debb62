import Sluice
import SluiceModel
import SluiceStorage

extension SQLiteClientStorage {
    /// Everything that a store has of objects, subscriptions and unsent writes, as lines in an order of their own.
    func contents() throws -> [String] {
        var lines: [String] = []
        for (classIndex, declared) in schema.classes.enumerated() {
            try forEachRow(ofClass: classIndex) { row in
                lines.append(
                    "\(declared.name) \(row.key) \(row.version) \(row.values) without \(row.absent.map { $0 })")
                return true
            }
        }
        for record in subscriptions {
            lines.append(
                "\(record.canonicalText) \(record.state) \(record.version) holes: \(record.hasHoles) "
                    + "dormant: \(record.isDormant) staging: \(isStaging(record.id))")
            for role in MemberRole.allCases {
                var members: [ObjectRef] = []
                try forEachMember(of: record.id, role: role) { object in
                    members.append(object)
                    return true
                }
                lines.append("\(record.canonicalText) has as \(role) \(members.sorted())")
            }
        }
        for object in try objectsWithBaseImage {
            lines.append("\(object) is on the server \(String(describing: try baseImage(of: object)))")
        }
        lines.append("\(outboxCount) unsent")
        return lines.sorted()
    }
}
