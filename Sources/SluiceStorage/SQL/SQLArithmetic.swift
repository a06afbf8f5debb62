package import SluiceModel
package import SluiceQuery

/// The program of SQL's arithmetic function: what it does with its arguments, in postfix order.
package struct ArithmeticProgram: Sendable {
    private enum Instruction {
        /// The next argument.
        case take(ScalarType)
        case apply(ArithmeticOperator, result: ScalarType)
    }

    private var instructions: [Instruction] = []

    /// Compiles arithmetic to a program over its ``Query/Comparison/Operand/terms``.
    package init(_ operand: Query.Comparison.Operand) { add(operand) }

    private mutating func add(_ operand: Query.Comparison.Operand) {
        if case .arithmetic(let operation, let left, let right, let type) = operand {
            add(left)
            add(right)
            instructions.append(.apply(operation, result: type))
        } else if case .scalar(let type) = operand.type {
            instructions.append(.take(type))
        }
    }

    /// Parses a program; nil for text that ``text`` never has.
    package init?(text: String) {
        var bytes = Array(text.utf8)[...]
        var depth = 0
        while let byte = bytes.popFirst() {
            let symbol = String(decoding: [byte], as: UTF8.self)
            if let operation = ArithmeticOperator(rawValue: symbol) {
                guard depth > 1, let type = bytes.popFirst().flatMap(ScalarType.init(letter:)) else { return nil }
                instructions.append(.apply(operation, result: type))
                depth -= 1
            } else {
                guard let type = ScalarType(letter: byte) else { return nil }
                instructions.append(.take(type))
                depth += 1
            }
        }
        guard depth == 1 else { return nil }
    }

    /// The program as text, such as `id+d`: a letter for each term; for each operation its operator and the letter of
    /// its result.
    package var text: String {
        var bytes: [UInt8] = []
        for instruction in instructions {
            switch instruction {
            case .take(let type): bytes.append(type.letter)
            case .apply(let operation, let type): bytes += Array(operation.rawValue.utf8) + [type.letter]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Computes the result of the function.
    ///
    /// - Parameter argument: returns an argument after the program, or null after the last; called once for each, in
    ///   order.
    package func run(_ argument: (Int) -> SQLBinding) -> SQLBinding {
        var stack: [Value] = []
        var taken = 0
        for instruction in instructions {
            switch instruction {
            case .take(let type):
                stack.append(argument(taken).value(of: type) ?? .null)
                taken += 1
            case .apply(let operation, let type):
                guard let right = stack.popLast(), let left = stack.popLast() else { return .null }
                stack.append(Arithmetic.apply(operation, left, right, as: type))
            }
        }
        return stack.last.flatMap { SQLBinding($0) } ?? .null
    }
}

extension ScalarType {
    /// The letter of a type of numbers; `?` for others.
    fileprivate var letter: UInt8 {
        switch self {
        case .int: UInt8(ascii: "i")
        case .float: UInt8(ascii: "f")
        case .double: UInt8(ascii: "d")
        case .decimal: UInt8(ascii: "m")
        default: UInt8(ascii: "?")
        }
    }

    fileprivate init?(letter: UInt8) {
        guard let type = Self.allCases.first(where: { $0.isNumeric && $0.letter == letter }) else { return nil }
        self = type
    }
}

extension ScalarType {
    /// The number that stands for the type in SQL.
    package var code: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    /// Nil for a number that stands for no type.
    package init?(code: Int) {
        guard Self.allCases.indices.contains(code) else { return nil }
        self = Self.allCases[code]
    }
}

extension SQLBinding {
    /// The bytes of ``DecimalKey`` for a number of a type; null for null.
    package func decimalKey(of type: ScalarType) -> SQLBinding {
        guard let value = value(of: type), let key = DecimalKey.encode(value) else { return .null }
        return .blob(key)
    }
}
