package import SluiceModel

/// A source as a reader sees it: what its context does not allow is absent.
package final class ReadableObjects: ObjectSource {
    private let source: any ObjectSource
    private let context: ReadContext

    /// - Parameter source: the objects as they are.
    package init(_ source: any ObjectSource, in context: ReadContext) {
        self.source = source
        self.context = context
    }

    package var now: Timestamp { source.now }

    package func row(_ object: ObjectRef) throws -> Row? {
        guard let row = try readable(object) else { return nil }
        return try shown(row, ofClass: object.classIndex)
    }

    /// The object as it is, if the reader may read it.
    private func readable(_ object: ObjectRef) throws -> Row? {
        guard let row = try source.row(object), try context.allows(row, ofClass: object.classIndex, in: source) else {
            return nil
        }
        return row
    }

    /// A readable row as the reader sees it; see ``ReadContext/shown(_:ofClass:in:)``.
    package func shown(_ row: Row, ofClass classIndex: Int) throws -> Row {
        try context.shown(row, ofClass: classIndex, in: source)
    }

    package func isPresent(_ object: ObjectRef) throws -> Bool {
        context.condition(ofClass: object.classIndex) == nil
            ? try source.isPresent(object) : try readable(object) != nil
    }

    package func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws {
        guard context.condition(ofClass: classIndex) != nil else {
            return try source.backlinks(to: object, fromClass: classIndex, property: property, body)
        }
        try source.backlinks(to: object, fromClass: classIndex, property: property) { key in
            guard try isPresent(ObjectRef(classIndex, key)) else { return true }
            return try body(key)
        }
    }

    package func spend(_ stepCount: Int) throws { try source.spend(stepCount) }

    package var memo: EvaluationMemo? { source.memo }
}
