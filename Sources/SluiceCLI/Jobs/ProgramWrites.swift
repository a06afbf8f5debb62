internal import Sluice
internal import SluiceExchange
internal import SluiceModel

/// A line that a program has printed.
struct ProgramLine: Sendable {
    /// Counted from 1, with those that are empty.
    let number: Int
    let request: WriteRequest
}

/// What a program has printed for the objects that it was given, as it is written in one transaction.
///
/// An object that was given may be deleted by others while the program works at it. Then there is nothing left to be
/// changed, and the others must not wait for that: lines that change or delete such an object are left out. A line that
/// names another object that is not there is a fault of the program.
struct ProgramWrites: Sendable {
    private let lines: [ProgramLine]
    /// The objects that lines name, as far as they exist.
    private let identities: [WriteTarget: Identity]
    private let given: Set<Identity>
    /// The objects that the program was given by their ids, where lines name objects so.
    private let givenByID: [ObjectID: Identity]
    /// How many objects that are gone are named.
    private static let namedMax = 3

    /// - Parameters:
    ///   - identities: the objects that lines name, as far as they exist.
    ///   - given: those that the program was given.
    init(_ lines: [ProgramLine], _ identities: [WriteTarget: Identity], given: Set<Identity>) {
        self.lines = lines
        self.identities = identities
        self.given = given
        let isByID = lines.contains { line in
            if case .id? = line.request.changedTarget { true } else { false }
        }
        givenByID = isByID ? Dictionary(given.map { ($0.objectID, $0) }) { first, _ in first } : [:]
    }

    /// Does what the lines say.
    ///
    /// - Returns: the objects that are gone, and what was printed for them is left out.
    /// - Throws: ``CommandError`` that names the line at fault.
    func perform(in transaction: borrowing WriteTransaction) throws -> [Identity] {
        var gone: [Identity] = []
        // What the program has deleted itself, it knows to be gone.
        var deleted: Set<Identity> = []
        for line in lines {
            let target = line.request.changedTarget
            if let object = target.flatMap({ givenObject($0) }), !deleted.contains(object),
                try transaction.record(object) == nil
            {
                if !gone.contains(object) { gone.append(object) }
                continue
            }
            do { try line.request.perform(identities, in: transaction) } catch  where Self.isOfLine(error) {
                throw CommandError.failure(
                    "line \(line.number) of the program's output: \(CommandError(error).message)")
            }
            if case .delete(let target) = line.request, let object = givenObject(target) { deleted.insert(object) }
        }
        return gone
    }

    /// What is said of objects that are gone.
    static func text(gone: [Identity]) -> String {
        let named = gone.prefix(namedMax).map { "\($0.className) \($0.key)" }.joined(separator: ", ")
        return "lines for \(GroupedNumber.text(gone.count, "object")) are left out, since others have deleted what the "
            + "program was given meanwhile: \(named)\(gone.count > namedMax ? ", …" : "")"
    }

    /// The object that the program was given and a line names; nil for another one.
    private func givenObject(_ target: WriteTarget) -> Identity? {
        switch target {
        case .identity(let identity): given.contains(identity) ? identity : nil
        case .id(let id, _): givenByID[id]
        }
    }

    /// Whether an error is the fault of a line, in contrast to that of the whole transaction or the store.
    private static func isOfLine(_ error: any Error) -> Bool {
        switch error {
        case let error as StoreError:
            [.unknownClass, .objectExists, .objectMissing, .objectTooLarge, .keyTooLong].contains(error.code)
        case is RecordError, is CommandError: true
        default: false
        }
    }
}

extension WriteRequest {
    /// The object that must be there; nil where none must.
    fileprivate var changedTarget: WriteTarget? {
        switch self {
        case .insert, .upsert: nil
        case .update(let target, _, _, _), .delete(let target): target
        }
    }
}
