internal import SluiceJSON
internal import SluiceModel
internal import SluiceQuery

/// The value of a variable.
enum RuleValue: Hashable, Sendable {
    /// There is none: a comparison with the variable never matches, under NOT too.
    case unset
    /// It is not known yet, or the schema lacks what it needs: as unset, and also not equal to NULL.
    case unknown
    case one(Element)
    case many([Element])
    /// A derived set: objects of a class.
    case members(className: String, keys: [ObjectKey])

    /// A single value.
    enum Element: Hashable, Sendable {
        case value(Value)
        /// A text that takes the type of what it is compared with: an id, a claim.
        case text(String)
        /// A number as a claim has it.
        case number(String)

        /// - Parameter isBesideObject: whether the comparison reads from an object, whose types texts then take.
        func literal(isBesideObject: Bool) -> LiteralSyntax.Kind {
            switch self {
            case .value(let value): .value(value)
            case .text(let text): isBesideObject ? .untyped(text) : .value(.string(text))
            case .number(let digits): .number(digits)
            }
        }
    }

    /// What a claim says. Null, and what no comparison takes, is as missing.
    init(claim: JSONValue?) {
        switch claim {
        case .array(let elements):
            let known = elements.compactMap(Element.init(claim:))
            self = known.count == elements.count ? .many(known) : .unset
        case let claim?: self = Element(claim: claim).map { .one($0) } ?? .unset
        case nil: self = .unset
        }
    }

    /// What a client has chosen; as unset if it has more elements than a query's list may have.
    init(client value: Value?) {
        switch value {
        case nil, .null, .map: self = .unset
        case .list(let values), .set(let values):
            let isFlat = values.allSatisfy { $0.scalarType != nil && !$0.isNull }
            self =
                isFlat && values.count <= QueryLimits.listCountMax ? .many(values.map { .value($0) }) : .unset
        case .string(let text)?: self = .one(.text(text))
        case let value?: self = value.scalarType == nil ? .unset : .one(.value(value))
        }
    }

    var hasValue: Bool { self != .unset && self != .unknown }

    /// The value in place of the variable.
    func literals(isBesideObject: Bool) -> [LiteralSyntax.Kind] {
        switch self {
        case .unset, .unknown: []
        case .one(let element): [element.literal(isBesideObject: isBesideObject)]
        case .many(let elements): elements.map { $0.literal(isBesideObject: isBesideObject) }
        case .members(let className, let keys): keys.map { .member(className: className, key: $0) }
        }
    }

    /// The value as text, different for different values.
    var text: String {
        func counted(_ text: String) -> String { "\(text.utf8.count):\(text)" }
        func text(_ element: Element) -> String {
            switch element {
            case .value(let value): "value " + counted("\(value.kindName) \(value)")
            case .text(let text): "text " + counted(text)
            case .number(let digits): "number " + counted(digits)
            }
        }
        return switch self {
        case .unset: "unset"
        case .unknown: "unknown"
        case .one(let element): text(element)
        case .many(let elements): "many \(elements.count) " + elements.map(text).joined(separator: " ")
        case .members(let className, let keys):
            "members \(className) \(keys.count) " + keys.map { counted("\($0)") }.joined(separator: " ")
        }
    }

    var isList: Bool {
        switch self {
        case .many, .members: true
        case .unset, .unknown, .one: false
        }
    }
}

extension RuleValue.Element {
    fileprivate init?(claim: JSONValue) {
        switch claim {
        case .bool(let isTrue): self = .value(.bool(isTrue))
        case .integer(let number): self = .value(.int(number))
        case .number(let digits): self = .number(digits)
        case .string(let text): self = .text(text)
        case .null, .array, .object: return nil
        }
    }
}
