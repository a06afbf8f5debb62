internal import SluiceModel

/// Checks comparisons of two sides with many values as wholes, which is what a comparison without quantifiers means.
extension Checker {
    /// Compares two paths as wholes. Where the operator can be mirrored, the path with the lesser text comes first.
    func wholes(
        _ left: OperandSide, _ right: OperandSide, _ syntax: ComparisonSyntax
    ) throws(QueryError) -> Query.Predicate {
        let (own, other) = (try whole(left, syntax), try whole(right, syntax))
        guard own.isSet == other.isSet else {
            let (list, set) = own.isSet ? (right, left) : (left, right)
            throw QueryError(
                .typeMismatch,
                "lists compare with lists and sets with sets as a whole; found a list ('\(list.text)') and a set "
                    + "('\(set.text)'); ANY compares elements",
                at: syntax.position)
        }
        if own.isSet { try checkSet(syntax, left) }
        var (operands, comparison) = ((own.operand, other.operand), syntax.comparison)
        if let mirrored = comparison.mirrored, UTF8Order.less(right.text, left.text) {
            (operands, comparison) = ((other.operand, own.operand), mirrored)
        }
        return .comparison(
            Query.Comparison(
                own.isSet ? .asSets : .inOrder, operands.0, comparison, operands.1, ignoresCase: syntax.ignoresCase))
    }

    /// Compares a path and a list of constants as wholes.
    ///
    /// - Parameter isListLeft: whether the constants are written on the left. `syntax` has the operator as it is
    ///   written.
    func wholes(
        _ side: OperandSide, _ constants: [Constant], _ syntax: ComparisonSyntax, isListLeft: Bool
    ) throws(QueryError) -> Query.Predicate {
        let whole = try whole(side, syntax)
        if whole.isSet { try checkSet(syntax, side) }
        let mirrored = isListLeft ? syntax.comparison.mirrored : syntax.comparison
        let comparison = mirrored ?? syntax.comparison
        let isTurned = mirrored == nil
        var values: [Value] = []
        for constant in constants {
            var value = constant.value(under: comparison)
            switch constant {
            case .exact where syntax.ignoresCase: value = value?.folded
            case .belowAll where comparison.isOrdering: value = .double(-1e19)
            case .aboveAll where comparison.isOrdering: value = .double(1e19)
            default: break
            }
            // A constant that no value equals, or can be ordered with, makes the wholes differ.
            guard let value else { return .constant(comparison == .notEqual) }
            // The constant NULL contains nothing and is like nothing, not even NULL.
            guard !isTurned || !value.isNull else { return .constant(false) }
            values.append(value)
        }
        let list = Query.Comparison.Operand.constant(whole.isSet ? .set(of: values) : .list(values))
        return .comparison(
            Query.Comparison(
                whole.isSet ? .asSets : .inOrder, isTurned ? list : whole.operand, comparison,
                isTurned ? whole.operand : list, ignoresCase: syntax.ignoresCase))
    }

    /// Makes a whole of a side with many values, and tells whether it is a set.
    private func whole(
        _ side: OperandSide, _ syntax: ComparisonSyntax
    ) throws(QueryError) -> (operand: Query.Comparison.Operand, isSet: Bool) {
        if let property = ownCollection(side) {
            guard property.container != .map else {
                throw QueryError(
                    .typeMismatch,
                    "a map ('\(side.text)') does not compare as a whole; ANY and ALL compare its values",
                    at: syntax.position)
            }
            return (.path(property.path), property.container == .set)
        }
        guard hasOrder(side.operand) else {
            throw QueryError(
                .typeMismatch,
                "the values of '\(side.text)' have no order to be compared in as a whole; write ANY, ALL or NONE before "
                    + "one side",
                at: side.position ?? syntax.position)
        }
        return (side.operand, false)
    }

    /// The collection of one object as a whole, with null for links to absent objects; nil for any other side.
    private func ownCollection(
        _ side: OperandSide
    ) -> (path: Query.Path, container: PropertyType.Container)? {
        guard case .path(let path) = side.operand, case .elements(let property) = path.leaf,
            !path.steps.contains(where: \.isToMany)
        else { return nil }
        let whole = Query.Path(
            scope: path.scope, steps: path.steps, leafClass: path.leafClass, leaf: .whole(property), type: path.type,
            canBeNull: false, text: path.text)
        return (whole, schema[path.leafClass].properties[property].type.container)
    }

    /// Whether the values of a side have an order: all collections on the way are lists.
    private func hasOrder(_ operand: Query.Comparison.Operand) -> Bool {
        switch operand {
        case .constant, .list, .now: return true
        case .arithmetic(_, let left, let right, _):
            // The pairs of two sides with many values have no order.
            return left.isToMany != right.isToMany && hasOrder(left.isToMany ? left : right)
        case .path(let path):
            let isOrdered = path.steps.allSatisfy { step in
                !step.isToMany || !step.isBacklink && isList(step.property, ofClass: step.classIndex)
            }
            switch path.leaf {
            case .elements(let property): return isOrdered && isList(property, ofClass: path.leafClass)
            case .keys: return false
            default: return isOrdered
            }
        }
    }

    private func isList(_ property: Int, ofClass classIndex: Int) -> Bool {
        schema[classIndex].properties[property].type.container == .list
    }

    private func checkSet(_ syntax: ComparisonSyntax, _ side: OperandSide) throws(QueryError) {
        guard [.equal, .notEqual].contains(syntax.comparison), !syntax.ignoresCase else {
            throw QueryError(
                .typeMismatch,
                "a set as a whole ('\(side.text)') compares by == and != without [c]; ANY and ALL compare its elements",
                at: syntax.position)
        }
    }
}
