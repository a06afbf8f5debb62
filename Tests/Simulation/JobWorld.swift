import SluiceModel
import TestSupport

/// What a simulation has for jobs: rows that are work, and a class of what jobs derive.
enum JobWorld {
    /// The class of copies, effects and heads.
    static let className = "Derived"
    private static let taskCount = 9

    static func classes(readsTime: Bool) throws -> [ClassSchema] {
        [
            try ClassSchema(
                className, primaryKey: "id",
                properties: [
                    Property("id", .scalar(.string)), Property("job", .scalar(.string)),
                    Property("generation", .scalar(.string)), Property("version", .scalar(.int)),
                    Property("digit", .scalar(.int)),
                ]),
            try ClassSchema(
                "Task", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.string)), Property("done", .scalar(.int)), Property("load", .scalar(.int)),
                ] + (readsTime ? [Property("due", .scalar(.date, isOptional: true))] : [])),
        ]
    }

    static func taskKey(_ generator: inout SeededGenerator) -> ObjectKey { .string("T\(generator.below(taskCount))") }

    /// Whether clients write objects of a class; what jobs derive only jobs write.
    static func isWritten(_ name: String) -> Bool { name != className }
}
