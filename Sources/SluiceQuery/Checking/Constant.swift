internal import FoundationEssentials
internal import SluiceModel

/// A literal, converted to the type of the side that it is compared with.
enum Constant {
    /// A value of the type, or null.
    case exact(Value)
    /// A number or a date that no value of the type equals: between the two nearest values.
    case between(Value, Value)
    /// A number below every value of the type.
    case belowAll
    /// A number above every value of the type.
    case aboveAll
    /// NaN, which is not equal to, less than or greater than any value.
    case notANumber

    /// A value that every value of the type compares with as it does with this constant under an operator; nil where
    /// the result is the same for all values of the type.
    func value(under comparison: ComparisonOperator) -> Value? {
        switch (self, comparison) {
        case (.exact(let value), _): value
        case (.between(let floor, _), .lessOrEqual), (.between(let floor, _), .greater): floor
        case (.between(_, let ceiling), .less), (.between(_, let ceiling), .greaterOrEqual): ceiling
        default: nil
        }
    }
}

extension Checker {
    /// Converts a literal to the type of a side.
    func constant(_ literal: LiteralSyntax, for side: OperandSide) throws(QueryError) -> Constant {
        if case .value(.null) = literal.kind { return .exact(.null) }
        if case .untyped(let text) = literal.kind { return try constant(typed(text, literal, for: side), for: side) }
        if case .variable = literal.kind { throw literal.unbound }
        if case .now = literal.kind { throw Self.misplacedNow("'\(side.text)' in a list", literal) }
        let name = side.name
        if case .member(_, let key) = literal.kind, case .scalar = side.type {
            return try constant(LiteralSyntax(.value(key.value), position: literal.position), for: side)
        }
        switch side.type {
        case .link(let target): return .exact(.link(try key(literal, ofClass: target, named: name)))
        case .scalar(let type):
            if let number = Self.number(literal) {
                guard let constant = try numeric(number, type, literal) else { throw mismatch(literal, type, name) }
                return constant
            }
            if type == .date, case .instant(let date, _) = literal.kind {
                let (next, isBeyond) = date.microseconds.addingReportingOverflow(1)
                return .between(.date(date), .date(Timestamp(microseconds: isBeyond ? .max : next)))
            }
            guard case .value(let value) = literal.kind, value.scalarType == type else {
                throw mismatch(literal, type, name)
            }
            return .exact(value)
        }
    }

    private func mismatch(_ literal: LiteralSyntax, _ type: ScalarType, _ name: String) -> QueryError {
        QueryError(
            .typeMismatch,
            "unsupported comparison between type '\(type.rawValue)' (\(name)) and type '\(literal.typeName)'"
                + Self.hint(for: literal, as: type),
            at: literal.position)
    }

    /// How to write a constant of a type, for the error about a string in its place; empty for any other literal.
    static func hint(for literal: LiteralSyntax, as type: ScalarType) -> String {
        guard case .value(.string) = literal.kind else { return "" }
        return switch type {
        case .date: "; write a date without quotes, as in 2013-01-31T10:00:00Z or 2013-01-31@10:00:00"
        case .uuid: "; write uuid(6ba7b810-9dad-11d1-80b4-00c04fd430c8)"
        case .objectID: "; write oid(0123456789abcdef0123456789abcdef)"
        case .data: "; write B64\"AQI=\" or binary('text')"
        case .int, .float, .double, .decimal: "; write a number without quotes"
        case .bool: "; write true or false without quotes"
        case .string: ""
        }
    }

    // MARK: Numbers

    /// The digits of a numeric literal; nil for any other.
    static func number(_ literal: LiteralSyntax) -> String? {
        switch literal.kind {
        case .number(let digits): digits
        case .value(.int(let value)): String(value)
        case .value(.float(let value)): FloatingText.of(value)
        case .value(.double(let value)): FloatingText.of(value)
        case .value(.decimal(let value)): value.description.lowercased()
        case .untyped(let text): UntypedText(text).number
        default: nil
        }
    }

    /// Converts a number to a type; nil for types that are not numeric. Where no value of the type equals the number,
    /// the constant is between two values; but one with a point or an exponent becomes the nearest floating-point
    /// number.
    func numeric(
        _ digits: String, _ type: ScalarType, _ literal: LiteralSyntax
    ) throws(QueryError) -> Constant? {
        let isFinite = digits.utf8.contains { Lexer.isDigit($0) }
        switch type {
        case .int:
            guard isFinite else { throw notFinite(digits, type, literal) }
            return Self.integer(digits)
        case .float:
            let number = Float(digits) ?? .nan
            guard !isFinite || number.isFinite else { throw beyondRange(digits, "floats", literal) }
            return Self.floating(number, digits) { .float($0) }
        case .double:
            let number = Double(digits) ?? .nan
            guard !isFinite || number.isFinite else { throw beyondRange(digits, "doubles", literal) }
            return Self.floating(number, digits) { .double($0) }
        case .decimal:
            if digits == "nan" { return .notANumber }
            guard isFinite else { throw notFinite(digits, type, literal) }
            return .exact(.decimal(try decimal(digits, literal)))
        default:
            guard isFinite else { throw notFinite(digits, type, literal) }
            return nil
        }
    }

    private func decimal(_ digits: String, _ literal: LiteralSyntax) throws(QueryError) -> Decimal {
        do throws(DecimalText.Failure) {
            return try DecimalText.parse(digits)
        } catch {
            guard error == .tooManyDigits else { throw beyondRange(digits, "decimals", literal) }
            throw QueryError(
                .typeMismatch, "the number \(digits.prefix(40))… has more digits than a decimal, which has 38",
                at: literal.position)
        }
    }

    private func notFinite(_ digits: String, _ type: ScalarType, _ literal: LiteralSyntax) -> QueryError {
        let name = digits == "nan" ? "NaN" : "Infinity"
        return QueryError(.typeMismatch, "\(name) not supported for \(type.rawValue)", at: literal.position)
    }

    private func beyondRange(_ digits: String, _ what: String, _ literal: LiteralSyntax) -> QueryError {
        QueryError(
            .typeMismatch, "the number \(digits.prefix(40)) is beyond the range of \(what)", at: literal.position)
    }

    private static func integer(_ digits: String) -> Constant {
        if let number = Int64(digits) { return .exact(.int(number)) }
        return switch ExactNumber(digits)?.integerPlace {
        case .equal(let number): .exact(.int(number))
        case .above(let floor): .between(.int(floor), .int(floor + 1))
        case .belowAll: .belowAll
        case .aboveAll: .aboveAll
        case nil: .notANumber
        }
    }

    /// Converts to a floating-point type: a number with a point or an exponent to the nearest value, an integer
    /// exactly.
    private static func floating<Number: BinaryFloatingPoint>(
        _ number: Number, _ digits: String, _ value: (Number) -> Value
    ) -> Constant {
        if number.isNaN { return .notANumber }
        guard let integer = Int64(digits), Number(exactly: integer) == nil else {
            return .exact(value(number == 0 ? 0 : number))
        }
        // The nearest value is a whole number that 128 bits can hold.
        return Int128(number) > Int128(integer)
            ? .between(value(number.nextDown), value(number)) : .between(value(number), value(number.nextUp))
    }

    // MARK: Links

    /// The key of the object that a literal stands for, beside a link to a class.
    private func key(
        _ literal: LiteralSyntax, ofClass target: Int, named name: String
    ) throws(QueryError) -> ObjectKey {
        let declared = schema[target]
        let key: ObjectKey?
        switch literal.kind {
        case .value(.link(let own)): key = own
        case .value(.objectID(let id)): key = .id(id)
        case .value(let value): key = ObjectKey(primaryKey: value)
        case .number(let digits): key = ExactNumber(digits)?.integer.map { .int($0) }
        case .instant, .untyped, .variable, .now: key = nil
        case .member(let className, let own):
            guard className == declared.name else {
                throw QueryError(
                    .typeMismatch, "\(name) links to \(declared.name), and the set is one of \(className)",
                    at: literal.position)
            }
            key = own
        case .object(let className, let value):
            guard className == declared.name else {
                throw QueryError(
                    .typeMismatch, "\(name) links to \(declared.name), and the given object is of class '\(className)'",
                    at: literal.position)
            }
            if case .objectID(let id) = value { key = .id(id) } else { key = ObjectKey(primaryKey: value) }
        }
        guard let key, declared.accepts(key) else {
            let expected =
                declared.primaryKey.map { "its primary key '\($0)', \(declared.keyType.rawValue)" } ?? "oid(…)"
            throw QueryError(
                .typeMismatch,
                "\(name) links to \(declared.name), which is compared with \(expected); found "
                    + "\(literal.typeName)",
                at: literal.position)
        }
        return key
    }
}

extension LiteralSyntax {
    /// The error for a variable that was not replaced by its value.
    var unbound: QueryError {
        QueryError(.unsupported, "found \(typeName); only rules have variables", at: position)
    }
}
