{{/* What the pods of every part have in common: no powers, a read-only root, settings and secrets. */}}
{{- define "retrycontract.labels" }}{app.kubernetes.io/name: retrycontract, app.kubernetes.io/instance: {{ .root.Release.Name }}, app.kubernetes.io/component: {{ .part }}}{{ end }}

{{- define "retrycontract.pod" }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 10001
        runAsGroup: 10001
        seccompProfile: {type: RuntimeDefault}
      automountServiceAccountToken: false
      enableServiceLinks: false # else the cluster adds RETRYCONTRACT_PORT and its like, which are no settings
      imagePullSecrets: {{ toJson .Values.image.pullSecrets }}
      nodeSelector: {{ toJson .Values.nodeSelector }}
      tolerations: {{ toJson .Values.tolerations }}
      affinity: {{ toJson .Values.affinity }}
      volumes: [{name: tmp, emptyDir: {}}]
{{- end }}

{{- define "retrycontract.container" }}
          image: {{ .Values.image.repository }}:{{ if .Values.image.tag }}{{ .Values.image.tag }}{{ else }}{{ .Chart.AppVersion }}{{ end }}
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          env:
            {{- range $name, $value := .Values.settings }}
            - {name: {{ $name }}, value: {{ toJson (print $value) }}}
            {{- end }}
          envFrom: [{secretRef: {name: {{ .Values.secret }}}}]
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL]}
          volumeMounts: [{name: tmp, mountPath: /tmp}]
{{- end }}
